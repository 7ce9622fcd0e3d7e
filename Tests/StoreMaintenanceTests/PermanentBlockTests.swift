import AuditLog
import Logging
import PINPolicy
import ServerTestSupport
import StoreMaintenance
import Synchronization
import Testing
import TestSupport
import Vocabulary
import WalletStore

@testable import RemotePINServer

@Suite("Permanent blocks on record")
struct PermanentBlockTests {
    /// Enters wrong PINs until the wallet is blocked permanently.
    private static func block(_ wallet: TestWallet, on server: InProcessServer) async throws {
        for _ in 0..<4 {
            for _ in 0..<4 { _ = try await wallet.openSession().check("000000") }
            server.clock.advance(by: .seconds(86_400))
        }
        #expect(try await server.pinState(wallet) == .blockedPermanently)
    }

    private static func blocks(_ server: InProcessServer) async throws -> [AuditRecord] {
        try await server.record().filter { $0.event == .blockedPermanently }
    }

    private static func failures(_ wallet: TestWallet, in name: String, of server: InProcessServer) async throws -> (
        failures: Int, isBlocked: Bool
    ) {
        let report = try await server.opened(name) { try await $0.report(of: wallet.walletID) }
        let attempts = try report.orThrow().attempts(under: .standard).orThrow()
        return (attempts.failures, attempts.isBlockedPermanently)
    }

    @Test("a permanent block has one entry, which is durable before its answer")
    func entry() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            _ = try await other.openSession().check("000000")
            try await Self.block(wallet, on: server)
            let entries = try await Self.blocks(server)
            #expect(entries.map(\.subject.wallets) == [[wallet.walletID]])
            // Neither the timers nor further attempts add another one.
            await server.server.runDueTimers()
            _ = try await wallet.openSession().check("000000")
            await server.server.runDueTimers()
            #expect(try await Self.blocks(server).count == 1)
            let unrecorded = try await server.store.unrecordedBlocks(after: nil, lookingAt: 100)
            #expect(unrecorded.wallets.isEmpty)
        }
    }

    @Test("a session or a further attempt records, once, a block that the attempt causing it did not record")
    func recordedByAnother() async throws {
        let losesOutcome = Mutex(false)
        var options = InProcessServer.Options()
        options.rules.attempts = try AttemptPolicy(rounds: 1, attemptsPerRound: 1, blocks: []).orThrow()
        options.wrapping = { store in
            GatedStore(
                store: store,
                gate: Gate(),
                judging: { (_: WalletID, isDone: Bool) throws(StoreError) in
                    if isDone, losesOutcome.withLock(\.self) { throw .outcomeUnknown }
                }
            )
        }
        try await InProcessServer.run(options) { server in
            let wallets = [try await server.wallet(), try await server.wallet()]
            let session = try await wallets[1].openSession()
            losesOutcome.withLock { $0 = true }
            for wallet in wallets { #expect(try await wallet.openSession().check("000000") == .closed) }
            losesOutcome.withLock { $0 = false }
            #expect(try await Self.blocks(server).isEmpty)
            #expect(try await server.pinState(wallets[0]) == .blockedPermanently)
            #expect(try await Self.blocks(server).map(\.subject.wallets) == [[wallets[0].walletID]])
            #expect(try await session.check("135790") == .blockedPermanently)
            #expect(try await Self.blocks(server).map(\.subject.wallets) == wallets.map { [$0.walletID] })
            await server.server.runDueTimers()
            for wallet in wallets { _ = try await wallet.openSession().check("135790") }
            await server.server.runDueTimers()
            #expect(try await Self.blocks(server).count == 2)
        }
    }

    @Test("a block whose entry a crash or the audit log prevented is recorded later, once, and PIN checks continue")
    func healed() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            // Rejects every entry, as a full disk does; and the process ends before it can be repeated.
            await server.audit.close()
            try await Self.block(wallet, on: server)
            await server.server.runDueTimers()
            #expect(try await Self.blocks(server).isEmpty)
            let unrecorded = try await server.store.unrecordedBlocks(after: nil, lookingAt: 100)
            #expect(unrecorded.wallets == [wallet.walletID])
            let parts = AuditLog.Parts(path: server.auditPath, vault: server.vault, clock: server.clock)
            let audit = try await AuditLog.open(parts)
            for _ in 0..<2 {
                // The second process finds nothing to record.
                let blocks = PermanentBlocks(store: server.store, audit: audit)
                for _ in 0..<2 { await blocks.recordMissing(log: Logger(label: "test")) }
                #expect(try await Self.blocks(server).map(\.subject.wallets) == [[wallet.walletID]])
            }
            await audit.close()
        }
    }

    @Test("three strict restores of one backup grant no attempt to a wallet that was blocked permanently since")
    func repeated() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            _ = try await wallet.openSession()
            let backup = try await server.backup("one")
            try await Self.block(wallet, on: server)
            await server.stop()
            for round in 0..<3 {
                let name = "restored-\(round)"
                let report = try await server.restore(backup, into: name)
                #expect(report.replayed.blocked == 1 && report.earlierRestores == round)
                #expect(try await Self.failures(wallet, in: name, of: server).isBlocked)
                let unblocked = try await Self.failures(other, in: name, of: server)
                #expect(!unblocked.isBlocked && unblocked.failures == 12)
            }
            let begun = try await server.record().filter { $0.event == .restore && $0.phase == .begun }
            #expect(begun.map { $0.detail?.hasSuffix("restored 0 times before") == true } == [true, false, false])
            #expect(begun.last?.detail?.hasSuffix("restored 2 times before") == true)
        }
    }

    @Test("a block from before the backup is in the backup and is not repeated")
    func before() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            try await Self.block(wallet, on: server)
            let backup = try await server.backup("one")
            await server.stop()
            let report = try await server.restore(backup, into: "restored")
            #expect(report.replayed.blocked == 0)
            #expect(try await Self.failures(wallet, in: "restored", of: server).isBlocked)
        }
    }
}
