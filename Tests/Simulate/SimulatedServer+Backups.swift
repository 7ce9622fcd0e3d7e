internal import AuditLog
internal import Foundation
internal import PINPolicy
internal import RemotePINServer
internal import StoreMaintenance
internal import Synchronization
@testable internal import Vault
internal import WalletStore

/// Backups and restores, by the code of the operator's programs, which run outside the simulation.
extension SimulatedServer {
    /// A backup, and the time of its contents.
    struct Backup {
        let path: String
        let time: Int64
    }

    private static let storeFiles = ["wallets.db", "wallets.db-wal", "wallets.db-mark"]

    /// Makes a backup of the store as of now, from a copy of its files.
    func makeBackup() {
        guard let running = self.running else { return }
        let (mark, clock) = (running.server.audit.newest, self.clock)
        let time = self.scheduler.now
        let folder = "\(self.run.folder)/backup-\(time)"
        try? FileManager.default.createDirectory(atPath: "\(folder)/data", withIntermediateDirectories: true)
        for name in ["vault.key"] + Self.storeFiles.map({ "data/\($0)" }) {
            try? FileManager.default.copyItem(atPath: "\(self.folder)/\(name)", toPath: "\(folder)/\(name)")
        }
        let failure = self.outside {
            let vault = try await KeyFileVault("\(folder)/vault.key")
            let store = try SQLiteWalletStore.open(folder: "\(folder)/data", key: .derived(by: vault))
            let maker = BackupMaker(store: store, vault: vault, clock: clock) { mark }
            _ = try await maker.make(at: "\(folder)/backup") { _, _ in }
            await store.close()
        }
        if let failure { return self.run.observer.report("the backup fails: \(failure)") }
        self.backup = Backup(path: "\(folder)/backup", time: time)
        self.run.observer.note("operator", "makes a backup")
    }

    /// Stops the server, and restores the last backup in place of its store.
    func restore(_ rule: EpochRule) {
        // A damaged file is put back first.
        guard let backup = self.backup, self.running != nil, !self.hasFlippedBit else { return }
        self.kill(power: false, "the operator restores a backup")
        for name in Self.storeFiles { try? FileManager.default.removeItem(atPath: "\(self.folder)/data/\(name)") }
        var failure: (any Error)?
        if let stage = self.killAtStage.take().map({ Restoration.Stage.allCases[$0] }) {
            let (folder, left) = (self.folder, "\(self.folder)-left")
            failure = self.runRestore(of: backup, rule) {
                guard $0 == stage else { return }
                // A kill leaves the files as they are now, but a failure of the program removes some of them.
                try FileManager.default.copyItem(atPath: folder, toPath: left)
                throw Killed()
            }
            guard failure is Killed else {
                let end = failure.map { "\($0)" } ?? "it ends"
                return self.run.observer.report("the restore does not reach the stage \(stage): \(end)")
            }
            self.folder = left
            self.run.observer.note("operator", "repeats the restore, which was killed before \(stage)")
        }
        failure = self.runRestore(of: backup, rule) { _ in }
        if let failure { return self.run.observer.report("the restore fails: \(failure)") }
        self.run.observer.note("operator", "restores the backup of \(Trace.text(backup.time)) with the rule \(rule)")
        self.run.restored(rule, from: backup.time, covered: false)
    }

    /// An error that stands for a kill of the operator's program.
    private struct Killed: Error {}

    private func runRestore(
        of backup: Backup,
        _ rule: EpochRule,
        _ stage: @escaping @Sendable (Restoration.Stage) throws -> Void
    ) -> (any Error)? {
        let (folder, clock) = (self.folder, self.clock)
        return self.outside {
            var parts = Restoration.Parts(
                backup: backup.path,
                dataFolder: "\(folder)/data",
                auditLog: "\(folder)/audit.log",
                vault: try await KeyFileVault("\(folder)/vault.key"),
                clock: clock,
                actor: AuditActor(rawValue: "operator"),
                rule: rule
            )
            parts.stage = stage
            _ = try await Restoration(parts).run()
        }
    }

    /// Runs a program to its end, and returns its failure.
    private func outside(_ program: @escaping @Sendable () async throws -> Void) -> (any Error)? {
        let disk = unsafe SimulatedDisk.active
        unsafe SimulatedDisk.active = nil
        defer { unsafe SimulatedDisk.active = disk }
        return self.scheduler.outside(program)
    }
}
