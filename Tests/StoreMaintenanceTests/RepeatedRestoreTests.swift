import Administration
import AuditLog
import Foundation
import HostSystem
import RemotePINServer
import ServerTestSupport
import StoreMaintenance
import Testing
import TestSupport
import Vocabulary
import WalletStore

@Suite("Repeated restores")
struct RepeatedRestoreTests {
    private static func revoke(_ wallet: TestWallet, on server: InProcessServer) async throws {
        try await server.give(RevokeWallets([wallet.walletID]))
    }

    @Test(
        "every restore repeats the ends of a damaged log, which is read again after it was set aside",
        arguments: [2, 4]
    )
    func setAside(restores: Int) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let backup = try await server.backup("one")
            try await Self.revoke(wallet, on: server)
            let last = server.audit.newest
            for _ in 0..<2 { try await server.give(ListFlags()) }
            await server.stop()
            var bytes = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            bytes[bytes.count - 120] ^= 1
            try DurableFile.write(bytes, to: server.auditPath)
            for round in 0..<restores {
                let report = try await server.restore(backup, into: "again-\(round)")
                #expect(report.epoch == round + 2 && report.replayed.ended == 1, "round \(round)")
                guard case .damaged(let path, _)? = report.problem else {
                    Issue.record("\(String(describing: report.problem)) in round \(round)")
                    return
                }
                let kept = "\(server.auditPath).before-epoch-2"
                #expect(path == (round == 0 ? server.auditPath : kept))
                #expect(DurableFile.exists(kept) && !DurableFile.exists("\(server.auditPath).before-epoch-3"))
            }
            // The log that was set aside has the entry that the log stream named.
            let plan = try await server.restoration(backup, into: "x", last: last).plan()
            guard case .damaged? = plan.problem else { throw UnexpectedAnswer() }
        }
    }

    @Test("an older copy of the log hides no end that only the log beside it has", arguments: [false, true])
    func olderCopyOfLog(isDamaged: Bool) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let backup = try await server.backup("one")
            let older = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            try await Self.revoke(wallet, on: server)
            for _ in 0..<2 { try await server.give(ListFlags()) }
            await server.stop()
            var bytes = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            if isDamaged { bytes[bytes.count - 120] ^= 1 }
            try DurableFile.write(bytes, to: "\(server.auditPath).before-damage")
            try DurableFile.write(older, to: server.auditPath)
            let report = try await server.restore(backup, into: "again")
            #expect(report.replayed.ended == 1)
        }
    }

    /// The change that makes a whole log unreadable.
    enum Unreadable: CaseIterable {
        case lineEnds, empty, firstLine

        func bytes(of log: [UInt8]) -> [UInt8] {
            switch self {
            case .lineEnds: log.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
            case .empty: []
            case .firstLine: [log[0], log[1] ^ 1] + log.dropFirst(2)
            }
        }
    }

    @Test("a log set aside of which no entry can be read is named by each restore", arguments: Unreadable.allCases)
    func unreadable(_ kind: Unreadable) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let (backup, older) = (
                try await server.backup("one"), try DurableFile.read(server.auditPath, atMost: 1 << 20)
            )
            try await Self.revoke(wallet, on: server)
            await server.stop()
            let log = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            let aside = "\(server.auditPath).before-damage"
            try DurableFile.write(kind.bytes(of: log), to: aside)
            // The log in its place has the entry that the backup names.
            try DurableFile.write(older, to: server.auditPath)
            for name in ["first", "second"] {
                let report = try await server.restore(backup, into: name)
                guard case .damaged(aside, let damage)? = report.problem else {
                    Issue.record("\(String(describing: report.problem))")
                    return
                }
                #expect("\(damage)".contains(kind == .empty ? "is empty" : "up to 0 are intact"))
            }
        }
    }

    @Test("a log whose lines all end with CR LF is set aside, and later backups do not need it")
    func unreadableBefore() async throws {
        try await InProcessServer.run { server in
            let backup = try await server.backup("one")
            await server.stop()
            let log = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            try DurableFile.write(Unreadable.lineEnds.bytes(of: log), to: server.auditPath)
            let report = try await server.restore(backup, into: "first")
            guard case .damaged(server.auditPath, _)? = report.problem else { throw UnexpectedAnswer() }
            let second = try await server.restore(Self.laterBackup(of: "first", on: server), into: "second")
            #expect(second.problem == nil)
        }
    }

    /// Makes a backup of a restored store, with the log that the restore left in place, and returns its path.
    private static func laterBackup(of folder: String, on server: InProcessServer) async throws -> String {
        let parts = AuditLog.Parts(path: server.auditPath, vault: server.vault, clock: server.clock, epoch: 2)
        let log = try await AuditLog.open(parts)
        let later = "\(server.folder.path)/later.backup"
        try await server.opened(folder) { store in
            let maker = BackupMaker(store: store, vault: server.vault, clock: server.clock) { log.newest }
            _ = try await maker.make(at: later) { _, _ in }
        }
        await log.close()
        return later
    }

    @Test("a restore that was killed while it set a damaged log aside succeeds when repeated")
    func killedAside() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let backup = try await server.backup("one")
            try await Self.revoke(wallet, on: server)
            for _ in 0..<2 { try await server.give(ListFlags()) }
            await server.stop()
            var bytes = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            bytes[bytes.count - 120] ^= 1
            try DurableFile.write(bytes, to: server.auditPath)
            let kept = "\(server.auditPath).before-epoch-2"
            try FileManager.default.linkItem(atPath: server.auditPath, toPath: kept)
            let report = try await server.restore(backup, into: "again")
            #expect(report.epoch == 2 && report.replayed.ended == 1)
            #expect(try DurableFile.read(kept, atMost: 1 << 20) == bytes)
            #expect(try DurableFile.read(server.auditPath, atMost: 1 << 20) != bytes)
        }
    }

    @Test("a backup from after the damage does not need the log that was set aside before")
    func laterBackup() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let backup = try await server.backup("one")
            await server.stop()
            var bytes = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            bytes[bytes.count - 120] ^= 1
            try DurableFile.write(bytes, to: server.auditPath)
            try await server.restore(backup, into: "first")
            let report = try await server.restore(Self.laterBackup(of: "first", on: server), into: "second")
            #expect(report.problem == nil && report.replayed.ended == 0)
            try await server.opened("second") { store in
                let report = try await store.report(of: wallet.walletID)
                #expect(report?.revocation == nil)
            }
        }
    }

    @Test("from its plan on, a restore holds the lock of the data folder")
    func lock() async throws {
        try await InProcessServer.run { server in
            _ = try await server.wallet()
            let backup = try await server.backup("one")
            await server.stop()
            let folder = "\(server.folder.path)/restored"
            var asked = 0
            _ = try await server.restoration(backup, into: "restored").run { plan in
                asked += 1
                #expect(plan.problem == nil)
                #expect(throws: StoreOpenError.inUse(pid: getpid())) { _ = try StagedStore(folder: folder) }
            }
            #expect(asked == 1)
            struct Declined: Error {}
            await #expect(throws: Declined.self) {
                try await server.restoration(backup, into: "other").run { _ in throw Declined() }
            }
            try await server.restore(backup, into: "other")
        }
    }

    @Test("a registration without a session in the backup gets its full time again")
    func unopened() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let backup = try await server.backup("one")
            _ = try await wallet.openSession()
            await server.stop()
            let lifetime = ServiceRules().unopenedLifetime
            server.clock.advance(by: lifetime * 3)
            try await server.restore(backup, into: "restored")
            try await server.opened("restored") { store in
                server.clock.advance(by: lifetime - .seconds(1))
                let early = try await store.sweep(unopenedSince: server.clock.now() + (.zero - lifetime))
                #expect(early == 0)
                server.clock.advance(by: .seconds(2))
                let late = try await store.sweep(unopenedSince: server.clock.now() + (.zero - lifetime))
                #expect(late == 1)
            }
        }
    }
}
