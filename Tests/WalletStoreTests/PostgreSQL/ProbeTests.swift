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

    @Test("a store that must not be used fails the probe")
    func unusable() async throws {
        let store = try await self.place.open()
        try await store.probe()
        try self.connection.run("update facts set lost_commits = true")
        await #expect(throws: StoreError.unavailable) { try await store.probe() }
    }
}
