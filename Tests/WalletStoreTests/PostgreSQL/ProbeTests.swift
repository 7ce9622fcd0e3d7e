import PostgreSQLClient
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("The probe of a server's readiness")
struct ProbeTests {
    private let place: PostgreSQLPlace
    private let connection: PostgreSQLConnection

    init() async throws {
        self.place = try await PostgreSQLPlace()
        self.connection = try self.place.connect()
    }

    @Test(
        "a lock that delays PIN checks fails the probe, which succeeds again once the lock is released",
        arguments: [("wallets", "access exclusive"), ("wallets", "share"), ("commit_numbers", "exclusive")]
    )
    func locks(table: String, mode: String) async throws {
        let reasons = Reasons()
        var parts = self.place.parts(limit: .seconds(1))
        parts.onRefusal = { reason, _ in reasons.receive(reason) }
        let store = try await PostgreSQLWalletStore.open(parts)
        try await store.probe()
        try self.connection.run("begin")
        try self.connection.run("lock table \(table) in \(mode) mode")
        await #expect(throws: StoreError.unavailable) { try await store.probe() }
        #expect(reasons.contain("did not answer in time"))
        try self.connection.run("commit")
        #expect(await eventually { (try? await store.probe()) != nil })
        #expect(store.generation == 0, "the probe counts no commit")
    }

    @Test(
        "row locks that stop all PIN checks fail the probe after the first of them, until the locks are released",
        arguments: ["commit_numbers", "wallets"]
    )
    func rowLocks(table: String) async throws {
        let store = try await PostgreSQLWalletStore.open(self.place.parts(limit: .seconds(1)))
        let wallets = [try await TestWallet(in: store), try await TestWallet(in: store)]
        for wallet in wallets { _ = try await store.judge(wallet.attempt(right: false)) }
        try self.connection.run("begin")
        try self.connection.run("select from \(table) for update")
        for wallet in wallets {
            await #expect(throws: StoreError.self) { try await store.judge(wallet.attempt(right: false)) }
        }
        for _ in 0..<3 { await #expect(throws: StoreError.unavailable) { try await store.probe() } }
        try self.connection.run("commit")
        #expect(await eventually { (try? await store.probe()) != nil })
        _ = try await store.judge(wallets[0].attempt(right: false))
    }

    @Test("control characters in the name of an object are escaped")
    func escaped() {
        let reason = "\(PostgreSQLStoreOpenError.otherSchema(["trigger a\u{1B}[2J\r\nb\u{9B} is unknown"]))"
        #expect(reason.hasSuffix("trigger a\\u001b[2J\\u000d\\u000ab\\u009b is unknown"), "\(reason)")
    }

    @Test("a store that must not be used fails the probe")
    func unusable() async throws {
        let store = try await self.place.open()
        try await store.probe()
        try self.connection.run("update facts set lost_commits = true")
        await #expect(throws: StoreError.unavailable) { try await store.probe() }
    }
}
