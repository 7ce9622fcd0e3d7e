import Administration
import HostSystem
import SQLiteClient
import ServerTestSupport
import StoreMaintenance
import Testing
import TestSupport
import Vault
import Vocabulary
import Wire

@testable import AuditLog
@testable import WalletStore

@Suite("Comparing the store with its audit log at a start")
struct StartCheckTests {
    private static let code: RecoveryCode = "denied"

    /// A copy of the store as it is now.
    private static func copy(of server: InProcessServer) async throws -> String {
        let folder = "\(server.folder.path)/older"
        try DurableFile.makeFolder(folder)
        try DurableFile.makeEmpty("\(folder)/wallets.db")
        try await server.store.beginCopy(to: "\(folder)/wallets.db")
        while try await !server.store.stepCopy(pages: 1000).isWhole {}
        try await server.store.endCopy()
        try StoreMark.create(of: "\(folder)/wallets.db")
        return "older"
    }

    private static func check(
        _ store: SQLiteWalletStore,
        after mark: AuditMark?,
        of server: InProcessServer
    ) async throws -> OlderStore? {
        var check = StartCheck(after: mark)
        _ = try await AuditReader(server.auditPath, vault: server.vault).verify { check.read($0) }
        do {
            try await check.check(store)
            return nil
        } catch let error as OlderStore {
            return error
        }
    }

    /// A change on record, and the finding about a store without it.
    enum Change: CaseIterable {
        case revocation, deletionCode, wipe, block, denial, allowance, solution
    }

    @Test(
        "a store that lacks a change on record as done is an older copy; the present one has all changes",
        arguments: Change.allCases
    )
    func older(change: Change) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let code = Self.code
            let mac = try RecoveryCodeMAC(server.vault.mac(code.bytes, for: .recoveryCodeIndex)).orThrow()
            if change == .allowance { try await server.give(RevokeRecoveryCode(code)) }
            let (older, mark) = (try await Self.copy(of: server), server.audit.newest)
            let finding: OlderStore
            switch change {
            case .revocation:
                try await server.give(RevokeWallets([wallet.walletID]))
                finding = .revocation(wallet.walletID)
            case .deletionCode:
                let portal = try await server.endpoint.connect()
                _ = await portal.answer(.revokeWithCode(try wallet.deletionCode.orThrow().characters))
                finding = .revocation(wallet.walletID)
            case .wipe:
                let session = try await wallet.openSession()
                #expect(await session.connection.answer(.reportWipe) == .other("reportWipe"))
                finding = .revocation(wallet.walletID)
            case .block:
                for _ in 0..<4 {
                    for _ in 0..<4 { _ = try await wallet.openSession().check("000000") }
                    server.clock.advance(by: .seconds(86_400))
                }
                finding = .block(wallet.walletID)
            case .denial:
                try await server.give(RevokeRecoveryCode(code))
                finding = .denial(mac)
            case .allowance:
                try await server.give(RemoveDenied(.code(code)))
                finding = .denial(mac)
            case .solution:
                try await server.give(RevokeSolution())
                finding = .solution
            }
            for after in [mark, nil] {
                #expect(try await Self.check(server.store, after: after, of: server) == nil)
                let found = try await server.opened(older) { try await Self.check($0, after: after, of: server) }
                #expect(found == finding, "\(after as Any)")
            }
            // A mark after the change says that the store has it.
            let later = try await server.opened(older) { store in
                try await Self.check(store, after: server.audit.newest, of: server)
            }
            #expect(later == nil)
        }
    }

    @Test("a store with a lower generation than an entry of the log is an older copy")
    func generation() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let before = server.store.generation
            _ = try await wallet.openSession().check("000000")
            let now = server.store.generation
            #expect(now > before)
            var check = StartCheck(after: nil)
            var record = AuditRecord(at: server.clock.now(), epoch: 1, actor: .server, event: .stopped, phase: .begun)
            for (generation, isOlder) in [(before, false), (now, false), (now + 1, true)] {
                record.generation = generation
                check.read(AuditEntry(number: 2, record: record))
                do {
                    try await check.check(server.store)
                    #expect(!isOlder)
                } catch OlderStore.generation(let store, let log) {
                    #expect(isOlder && store == now && log == now + 1)
                }
            }
        }
    }

    @Test("a store whose records have no MACs, and that names no key of them, is neither served nor restored")
    func recordsWithoutMACs() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            try await VaultHistory.check(server.vault, of: server.store, at: server.clock.now())
            try await server.store.queue.perform { connection in
                for sql in [
                    "DELETE FROM record_key", "UPDATE attempts SET record = substr(record, 1, length(record) - 8)",
                ] { try connection.db.execute(sql) }
            }
            let error = await #expect(throws: VaultMismatch.self) {
                try await VaultHistory.check(server.vault, of: server.store, at: server.clock.now())
            }
            guard case .damaged? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(try await server.store.damagedWallets(after: nil, limit: 9).wallets == [wallet.walletID])
            let backup = try await server.backup("altered")
            await server.stop()
            await #expect(throws: RestoreFailure.step(.corrupt)) { try await server.restore(backup, into: "restored") }
        }
    }

    @Test("a revocation that was begun and has no end is carried out at the start; other commands are not")
    func unended() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            let begun = try await server.audit.append(
                .revokeWallets,
                by: .server,
                on: AuditSubject(wallets: [wallet.walletID]),
                .begun
            )
            try await server.audit.append(.restoreSolution, by: .server, .begun)
            await server.audit.close()
            let parts = AuditLog.Parts(path: server.auditPath, vault: server.vault, clock: server.clock)
            let audit = try await AuditLog.open(parts)
            let store = server.store
            #expect(try await audit.endUnended { try await StartCheck.carryOut($0, on: store) } == 2)
            await audit.close()
            #expect(try await store.report(of: wallet.walletID)?.revocation != nil)
            #expect(try await store.report(of: other.walletID)?.revocation == nil)
            let ends = try await server.record().suffix(2).map(\.phase)
            #expect(ends.first == .done(of: begun.number, result: "carried out at the start"))
            guard case .unclear(begun.number + 1, _)? = ends.last else {
                Issue.record("\(ends)")
                return
            }
        }
    }

    @Test("the restored store names the entry of its restore, and goes beyond every known generation")
    func restored() async throws {
        try await InProcessServer.run { server in
            _ = try await server.wallet()
            let backup = try await server.backup("one")
            await server.stop()
            _ = try await server.restoration(backup, into: "restored", witnessed: (5000, 70)).run()
            let entries = try await server.record()
            try await server.opened("restored") { store in
                #expect(store.generation > 5000)
                #expect(try await store.witnessStep() > 70)
                // The log's last but one entry: the restore's beginning.
                let mark = try await store.auditMark()
                #expect(mark?.number == UInt64(entries.count - 1))
                #expect(try await Self.check(store, after: mark.map { AuditMark($0) }, of: server) == nil)
            }
        }
    }
}
