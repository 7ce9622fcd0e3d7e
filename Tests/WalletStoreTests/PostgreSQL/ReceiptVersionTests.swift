import PINPolicy
import PostgreSQLClient
import Secrets
import Statements
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

/// A signer with several versions of the vault's keys, which seals with the first one.
private final class VersionedSigner: ReceiptSigner {
    private let held: Mutex<UInt32>
    private let keys = (1...3).map { ReceiptSigningKey(id: $0, seed: .random(count: ReceiptSigningKey.seedByteCount)) }

    /// - Parameter held: The newest version that the signer has.
    init(upTo held: UInt32) { self.held = Mutex(held) }

    func hold(upTo version: UInt32) { self.held.withLock { $0 = version } }

    /// The names of the versions, as the lease has them.
    var names: [String] { (1...self.held.withLock(\.self)).map { "\($0):0\($0)" } }

    func sign(root: SHA256Digest, epoch: UInt64, at time: Timestamp, by version: UInt32?) -> SignedRoot? {
        let number = version ?? 1
        guard number <= self.held.withLock(\.self) else { return nil }
        return self.keys[Int(number) - 1].sign(root: root, epoch: epoch, at: time)
    }
}

@Suite("The version of the vault's keys that several servers announce and sign with")
struct ReceiptVersionTests {
    private let servers: LeasedServers
    private let signers = ["a": VersionedSigner(upTo: 2), "b": VersionedSigner(upTo: 2)]

    init() async throws { self.servers = try await LeasedServers() }

    private func server(_ name: String) async throws -> PostgreSQLWalletStore {
        let signer = try self.signers[name].orThrow()
        return try await self.servers.server(name) { parts in
            parts.receipts = signer
            parts.vaultKeys = { signer.names }
        }
    }

    /// Activates a version, as `vault rotate` does.
    private func activate(_ version: UInt32, at store: PostgreSQLWalletStore) async throws {
        _ = try await store.note(vaultVersion: version, check: [UInt8(version)], at: TestWallet.start)
    }

    /// The version that a new session states.
    private func announced(_ wallet: TestWallet, at store: PostgreSQLWalletStore) async throws -> UInt32? {
        guard case .active(_, _, _, _, let version, _) = try await store.beginSession(wallet.newSession()) else {
            return nil
        }
        return version
    }

    private func signer(_ attempt: Attempt, at store: PostgreSQLWalletStore) async throws -> UInt32? {
        try await store.judge(attempt).receipt?.signed.keyID
    }

    @Test("all servers announce and sign with a new version from the same commit on, in every kind of step")
    func sameMoment() async throws {
        let (first, second) = (try await self.server("a"), try await self.server("b"))
        let wallet = try await TestWallet(in: first)
        #expect(try await self.announced(wallet, at: first) == nil, "before any server was started")
        for version in UInt32(1)...2 {
            // Both servers decide from what they read at their last step.
            for store in [first, second] {
                _ = try await self.announced(wallet, at: store)
                _ = try await self.signer(wallet.attempt(right: true), at: store)
            }
            try await self.activate(version, at: first)
            // The other server has heard nothing: each kind of step must read the version itself.
            let link = Attempt.Effect.linkRecoveryCode(mac: TestWallet.bytes(32))
            #expect(try await self.signer(wallet.attempt(right: true), at: second) == version)
            #expect(try await self.signer(wallet.attempt(right: true), at: first) == version)
            #expect(try await self.signer(wallet.attempt(right: true, effect: link), at: second) == version)
            #expect(try await self.announced(wallet, at: second) == version)
            #expect(try await self.announced(wallet, at: first) == version)
            let new = try await TestWallet(in: second, announcing: version, opened: false)
            #expect(try await second.register(new.registration()) == .registered(receiptVersion: version))
        }
    }

    @Test("a session that the other server's new version overtakes states the new one")
    func overtakenSession() async throws {
        let (first, second) = (try await self.server("a"), try await self.server("b"))
        try await self.activate(1, at: first)
        let wallet = try await TestWallet(in: first, announcing: 1)
        _ = try await self.announced(wallet, at: second)
        // The row is locked while the second server decides, so its step waits and is decided again.
        let connection = try self.servers.place.connect()
        try connection.run("begin")
        try connection.run("select from wallets where id = $1 for update", [.bytes(wallet.id.bytes)])
        let opening = Task { try await self.announced(wallet, at: second) }
        try await self.activate(2, at: first)
        try connection.run("commit")
        #expect(try await opening.value == 2)
    }

    @Test("a server without the store's version judges nothing and loses its lease, until it has the key")
    func lackingServer() async throws {
        let (first, second) = (try await self.server("a"), try await self.server("b"))
        try await self.activate(1, at: first)
        let wallet = try await TestWallet(in: first, announcing: 1)
        let lacking = try self.signers["b"].orThrow()
        lacking.hold(upTo: 1)
        // The version is activated while the second server has no lease, as when its process was frozen.
        let connection = try self.servers.place.connect()
        try connection.run("insert into vault_versions (version, active_since, key_check) values (2, 0, '\\x02')")
        await #expect(throws: StoreError.unavailable) {
            try await self.signer(wallet.attempt(right: false), at: second)
        }
        await #expect(throws: StoreError.unavailable) { try await self.announced(wallet, at: second) }
        #expect(await self.servers.refuse(for: "the lease was not renewed: the store seals and signs with version 2"))
        #expect(try await self.signer(wallet.attempt(right: true), at: first) == 2)
        lacking.hold(upTo: 2)
        #expect(await eventually { (try? await self.signer(wallet.attempt(right: true), at: second)) == 2 })
    }

    @Test("an epoch names the newest version that a server has used, also if the restored database lacks it")
    func restoredVersion() async throws {
        let first = try await self.server("a")
        try await self.activate(1, at: first)
        let wallet = try await TestWallet(in: first, announcing: 1)
        await first.close()
        var parts = self.servers.place.parts(as: "recovery")
        parts.acceptsLostCommits = true
        let recovery = try await PostgreSQLWalletStore.open(parts)
        try await recovery.open(
            [StoredEpoch(number: 2, rule: .strict, openedAt: TestWallet.start, mac: [1])],
            with: [:],
            without: [],
            accountingFor: [AccountedCommits(server: "a", epoch: 1, total: first.generation)],
            vaultKey: StoredVaultVersion(version: 2, activeSince: TestWallet.start, sealedAnewAt: nil, check: [2])
        )
        await recovery.close()
        #expect(try await self.announced(wallet, at: self.server("b")) == 2)
    }
}
