import Administration
import AdminProtocol
import AuditLog
import Foundation
import HostSystem
import PINPolicy
import ServerTestSupport
import StoreMaintenance
import Synchronization
import Testing
import TestSupport
import Vault
import Vocabulary
import WalletStore
import Wire

@Suite("Restoring a backup")
struct RestoreTests {
    private static func code(_ text: String) throws -> RecoveryCode { try RecoveryCode(Array(text.utf8)).orThrow() }

    private static func link(_ wallet: TestWallet, _ code: RecoveryCode) async throws {
        _ = try await wallet.openSession().answer(.linkRecoveryCode(code), pin: "135790")
    }

    @Test("every kind of revocation since the backup is repeated, its shares are destroyed, and no other wallet ends")
    func replay() async throws {
        try await InProcessServer.run { server in
            var wallets: [TestWallet] = []
            for _ in 0..<9 { wallets.append(try await server.wallet()) }
            let codes = try ["denied-with-link", "linked-later", "denied-before-link", "given-back", "old"].map(
                Self.code
            )
            try await Self.link(wallets[3], codes[0])
            // Reversed before the backup: replaying the older entry must not repeat the denial.
            try await server.give(RevokeRecoveryCode(codes[4]))
            try await server.give(RemoveDenied(.code(codes[4])))
            try await Self.link(wallets[7], codes[4])
            let backup = try await server.backup("one")

            try await server.give(RevokeWallets([wallets[0].walletID]))
            let portal = try await server.endpoint.connect()
            _ = await portal.answer(.revokeWithCode(try wallets[1].deletionCode.orThrow().characters))
            _ = await (try wallets[2].openSession()).connection.answer(.reportWipe)
            try await server.give(RevokeRecoveryCode(codes[0]))
            // Linked after the backup, so that the backup lacks the link.
            try await Self.link(wallets[4], codes[1])
            try await server.give(RevokeRecoveryCode(codes[1]))
            try await server.give(RevokeRecoveryCode(codes[2]))
            try await Self.link(wallets[5], codes[2])
            try await server.give(RevokeRecoveryCode(codes[3]))
            try await server.give(RemoveDenied(.code(codes[3])))
            try await server.give(RevokeSolution())
            await server.stop()

            let report = try await server.restore(backup, into: "restored")
            #expect(report.epoch == 2 && report.wallets == 9 && report.replayed.isSolutionRevoked)
            #expect(report.replayed.ended == 6 && report.replayed.denied == 4)
            try await server.opened("restored") { store in
                var reasons: [Revocation.Reason?] = []
                for wallet in wallets {
                    reasons.append(try await store.report(of: wallet.walletID)?.revocation?.reason)
                }
                #expect(reasons == [.wallet, .user, .user, .recoveryCode, .recoveryCode, .recoveryCode, nil, nil, nil])
                let values = try await store.sealedValues(after: nil, limit: 20)
                #expect(values.map { $0.values.shares == nil } == reasons.map { $0 != nil })
                var denied: [Bool] = []
                for code in codes {
                    let mac = try RecoveryCodeMAC(server.vault.mac(code.bytes, for: .recoveryCodeIndex))
                        .orThrow()
                    denied.append(try await store.denied(mac) != nil)
                }
                #expect(denied == [true, true, true, false, false])
                #expect(try await store.isSolutionRevoked())
            }
        }
    }

    @Test("a restore repeats a code's revocation with an unclear outcome, even for a wallet linked since the backup")
    func unclear() async throws {
        let fails = Mutex(false)
        let options = InProcessServer.Options.failing(with: .unavailable, at: .afterCommit) { fails.withLock { $0 } }
        try await InProcessServer.run(options) { server in
            let (wallet, code) = (try await server.wallet(), try Self.code("linked-later"))
            let backup = try await server.backup("one")
            try await Self.link(wallet, code)
            fails.withLock { $0 = true }
            await #expect(throws: AdminFailure.self) { try await server.give(RevokeRecoveryCode(code)) }
            await server.stop()
            _ = try await server.restore(backup, into: "restored")
            try await server.opened("restored") { store in
                try await #expect(store.report(of: wallet.walletID)?.revocation?.reason == .recoveryCode)
            }
        }
    }

    @Test("no restore grants fresh attempts, even of an older backup, a second time or without the audit log")
    func epochsRise() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let old = try await server.backup("old")
            for _ in 0..<3 { _ = try await wallet.openSession().check("000000") }
            let newer = try await server.backup("newer")
            await server.stop()
            #expect(try await server.restore(newer, into: "one").epoch == 2)
            #expect(try await server.restore(newer, into: "two").epoch == 3)
            #expect(try await server.restore(old, into: "three").epoch == 4)
            for name in ["one", "two", "three"] {
                let failures = try await server.opened(name) { try await $0.report(of: wallet.walletID) }
                #expect(failures?.attempts(under: .standard)?.failures == 12, "\(name)")
            }
            let lost = "\(server.folder.path)/lost.log"
            let report = try await server.restore(old, into: "four", auditLog: lost)
            #expect(report.problem == .missing(lost) && report.epoch == 2)
            let failures = try await server.opened("four") { try await $0.report(of: wallet.walletID) }
            #expect(failures?.attempts(under: .standard)?.failures == 12)
            let entries = try await server.record().filter { $0.event == .restore }
            #expect(entries.map(\.epoch) == [2, 2, 3, 3, 4, 4])
        }
    }

    @Test("a backup of a restored store continues from its epoch, and every record stays genuine")
    func chain() async throws {
        try await InProcessServer.run { server in
            _ = try await server.wallet()
            var backup = try await server.backup("0")
            await server.stop()
            for round in 1...3 {
                try await server.restore(backup, into: "r\(round)", rule: EpochRule.allCases[round % 3])
                backup = "\(server.folder.path)/\(round).backup"
                let (path, audit) = (
                    backup,
                    try await AuditLog.open(
                        AuditLog.Parts(
                            path: server.auditPath,
                            vault: server.vault,
                            clock: server.clock,
                            epoch: round + 1
                        )
                    )
                )
                try await server.opened("r\(round)") { store in
                    let maker = BackupMaker(store: store, vault: server.vault, clock: server.clock) { audit.newest }
                    #expect(try await maker.make(at: path) { _, _ in }.epoch == round + 1)
                    var changed = try await store.epochs()
                    #expect(EpochRecords.areGenuine(changed, by: server.vault))
                    changed[0].rule = changed[0].rule == .trust ? .strict : .trust
                    #expect(!EpochRecords.areGenuine(changed, by: server.vault))
                }
                await audit.close()
            }
        }
    }

    @Test(
        "a restore killed at any stage leaves no usable store, and the next one completes",
        arguments: Restoration.Stage.allCases
    )
    func killed(stage: Restoration.Stage) async throws {
        try await InProcessServer.run { server in
            let (wallet, revoked) = (try await server.wallet(), try await server.wallet())
            let backup = try await server.backup("one")
            try await server.give(RevokeWallets([revoked.walletID]))
            await server.stop()
            let dying = server.restoration(backup, into: "data2") {
                (reached: Restoration.Stage) throws(RestoreFailure) in
                if reached == stage { throw .vault }
            }
            await #expect(throws: RestoreFailure.vault) { try await dying.run() }
            let isPlaced = DurableFile.exists("\(server.folder.path)/data2/wallets.db")
            #expect(isPlaced == (stage == .finishing))
            if !isPlaced {
                let epoch = try await server.restore(backup, into: "data2").epoch
                // The epoch's number is used up once it is on record.
                #expect(epoch == (stage == .placing ? 3 : 2))
            } else {
                await #expect(throws: RestoreFailure.self) { try await server.restore(backup, into: "data2") }
            }
            try await server.opened("data2") { store in
                #expect(try await store.report(of: revoked.walletID)?.revocation != nil)
                #expect(try await store.report(of: wallet.walletID)?.attempts(under: .standard)?.failures == 12)
                // A server accepts the store with this log.
                let epoch = try await store.epochs().count + 1
                let log = AuditLog.Parts(path: server.auditPath, vault: server.vault, clock: server.clock, epoch: epoch)
                await (try await AuditLog.open(log)).close()
            }
            #expect(!DurableFile.exists("\(server.folder.path)/data2/restoring"))
        }
    }

    @Test("a store that was installed by hand has another epoch than the audit log, which then rejects it")
    func swapped() async throws {
        try await InProcessServer.run { server in
            _ = try await server.wallet()
            let backup = try await server.backup("one")
            await server.stop()
            try await server.restore(backup, into: "restored")
            func open(_ epoch: Int) async -> AuditLogError? {
                do throws(AuditLogError) {
                    let log = AuditLog.Parts(
                        path: server.auditPath,
                        vault: server.vault,
                        clock: server.clock,
                        epoch: epoch
                    )
                    await (try await AuditLog.open(log)).close()
                    return nil
                } catch { return error }
            }
            #expect(await open(2) == nil)
            let before = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            #expect(await open(1) == .otherEpoch(server.auditPath, log: 2, store: 1))
            #expect(await open(3) == .otherEpoch(server.auditPath, log: 2, store: 3))
            // A changed entry in an earlier epoch has the same effect: entries after it do not
            // count.
            let told = "\(AuditLogError.otherEpoch(server.auditPath, log: 2, store: 3))"
            #expect(told.contains("cut or changed") && told.contains("admin audit verify"))
            #expect(try DurableFile.read(server.auditPath, atMost: 1 << 20) == before)
        }
    }

    @Test(
        "if a new log was begun after the backup, all its ends are repeated, regardless of its numbers and length",
        arguments: [0, 20]
    )
    func newLog(before: Int) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            for _ in 0..<4 { try await server.give(ShowStatus()) }
            let backup = try await server.backup("one")
            await server.stop()
            let path = "\(server.folder.path)/new.log"
            let parts = AuditLog.Parts(path: path, vault: server.vault, clock: server.clock, epoch: 1)
            try await AuditLog.create(parts)
            let log = try await AuditLog.open(parts)
            let ended = 1
            for _ in 0..<before { try await log.append(.purge, by: .server, .failed(of: nil, reason: "")) }
            let subject = AuditSubject(wallets: [wallet.walletID])
            let begun = try await log.append(.revokeWallets, by: .server, on: subject, .begun)
            let done = AuditPhase.done(of: begun.number, result: "1 revoked")
            _ = try await log.append(.revokeWallets, by: .server, on: subject, done)
            await log.close()
            let report = try await server.restore(backup, into: "anew", auditLog: path)
            #expect(report.problem != nil && report.replayed.ended == ended)
        }
    }

    @Test("a log that lacks the backup's newest entry, or is torn before it, is reported as incomplete")
    func otherLogs() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            try await server.give(ShowStatus())
            let backup = try await server.backup("one")
            try await server.give(RevokeWallets([wallet.walletID]))
            let newest = server.audit.newest
            await server.stop()
            let bytes = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            let lines = bytes.split(separator: 0x0A).map { Array($0) + [0x0A] }
            func problem(_ bytes: [UInt8], last: AuditMark? = nil) async throws -> LogProblem? {
                let path = "\(server.folder.path)/other.log"
                try DurableFile.write(bytes, to: path)
                return try await server.restoration(backup, into: "x", auditLog: path, last: last).plan().problem
            }
            #expect(try await problem(bytes, last: newest) == nil)
            let path = "\(server.folder.path)/other.log"
            for short in [lines[0], lines[0] + lines[1].prefix(20)] {
                let found = try await problem(short)
                // The backup's mark is before or after the entry of the backup's begin.
                #expect((3...4).contains { found == .otherLog(path, .cut(newest: 1, expected: $0)) }, "\(found as Any)")
            }
            // An entry after it that a crash tore is not a problem of the log.
            #expect(try await problem(bytes + [0x7B]) == nil)
            // Truncated after the backup: only the mark of the log stream reveals it.
            let cut = Array(lines.prefix(4).joined())
            #expect(try await problem(cut) == nil)
            #expect(try await problem(cut, last: newest) == .otherLog(path, .cut(newest: 4, expected: newest.number)))
            var changed = bytes
            changed[40] ^= 1
            guard case .damaged = try await problem(changed) else {
                Issue.record("a changed log passes")
                return
            }
        }
    }
}
