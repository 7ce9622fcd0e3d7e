internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import ServerSettings
internal import StoreMaintenance
internal import Vocabulary
internal import WalletStore
internal import Wire

/// Makes a backup of the store.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the store of a server, running or stopped, into one file.",
        discussion: """
            A running server copies its store itself, some pages at a time, while it goes on serving; the file is then its \
            user's, in a folder in which it may write. The backup is whole under its name or not there at all, mode 0600, and \
            nothing is overwritten. It carries the vault's MAC: what was changed in it is not restored.

            The vault's key is not in it. Without a copy of the key file a backup is worth nothing, and beside it both are \
            worth as much as the server: keep them apart. Keep the audit log of later days, too: a restore needs it.

            Of a stopped server it also copies a store from before the last restore, which is not served: so what a mistaken \
            restore replaced is restored in turn, in a new epoch.

              remote-pin-server backup /var/backups/remote-pin/2026-11-21.backup --config server.yaml
              remote-pin-server backup before-the-upgrade.backup --lab /tmp/lab
            """
    )

    @Argument(help: ArgumentHelp("The file to make.", valueName: "dest"), completion: .file())
    var destination: String

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = ConfigurationOptions.absolute(self.destination)
        try await ending {
            let made: BackupReport
            if try await self.server.isReachable() {
                made = try await self.fromRunning(to: path)
            } else {
                made = try await self.fromStopped(to: path)
            }
            let json = BackupJSON(
                path: made.path,
                bytes: made.byteCount,
                takenAt: made.takenAt?.text ?? "",
                vaultKeyIncluded: false
            )
            self.output.print(json) { page in
                page.line(
                    "\(page.good("made")) \(made.path), \(made.byteCount) bytes, as of \(made.takenAt?.text ?? "?")"
                )
                page.line(
                    "the vault's key is not in it: keep a copy of the key file elsewhere, and the audit log's later entries"
                )
            }
        }
    }

    private func fromRunning(to path: String) async throws -> BackupReport {
        try await self.server.connected { call in
            let patience = Patience()
            var progress = ProgressLine()
            defer { progress.end() }
            var answer = try await call(.startBackup(path: path))
            while true {
                guard case .upkeep(let report) = answer, let backup = report.backup, backup.path == path else {
                    throw StartFailure.unexpectedAnswer
                }
                switch backup.state {
                case .done: return backup
                case .failed: throw StartFailure(.files, backup.problem ?? "no backup was made")
                case .running: progress.show("copying", backup.pagesCopied, of: backup.pages)
                }
                try await patience.wait()
                answer = try await call(.showUpkeep)
            }
        }
    }

    private func fromStopped(to path: String) async throws -> BackupReport {
        guard let loaded = try self.server.loaded() else {
            throw StartFailure(
                .unavailable,
                "no server answers there; name its configuration to copy a stopped one's store"
            )
        }
        let server = try StoppedServer(loaded)
        try server.requireItsUser(for: "backup")
        let store = try explaining(.files) { try RunningServer.openStore(of: server) }
        do {
            let epoch = try await RunningServer.epoch(of: store, vault: server.vault)
            let earlier = try await server.earlierEpoch(epoch)
            let audit = try await server.openAudit(epoch: earlier?.latest ?? epoch)
            let made: BackupReport
            do {
                made = try await Self.make(path, store: store, server: server, audit: audit, of: earlier)
            } catch {
                await audit.close()
                throw error
            }
            await audit.close()
            await store.close()
            if let earlier {
                StandardStreams.writeError(
                    "the store is of epoch \(epoch) and the audit log of epoch \(earlier.latest): a restore of this backup does "
                        + "all revocations again since the store's epoch began\n"
                )
            }
            return made
        } catch {
            await store.close()
            throw error
        }
    }

    /// - Parameter earlier: the store's epoch, where another one followed it. The backup is of the moment when that did, however
    ///   late it is made: guesses that were made since are not in it.
    ///
    /// Invariant (G7): what ended while another store was in its place is done again by a restore of the backup. What of the
    /// store's own epoch a copy of it lacks nobody can tell, so that is done again as well.
    private static func make(
        _ path: String,
        store: SQLiteWalletStore,
        server: StoppedServer,
        audit: AuditLog,
        of earlier: StoppedServer.EarlierEpoch?
    ) async throws -> BackupReport {
        let maker = BackupMaker(store: store, vault: server.vault, clock: server.clock, stateOf: earlier?.end) {
            earlier?.beginning ?? audit.newest
        }
        var begun: UInt64?
        do {
            begun = try await audit.append(.backup, by: server.actor, .begun, detail: path).number
            let backup = try await maker.make(at: path) { _, _ in }
            let result = "\(backup.byteCount) bytes, epoch \(backup.epoch)"
            try await audit.append(.backup, by: server.actor, .done(of: begun, result: result), detail: path)
            var report = BackupReport(path: path)
            (report.state, report.byteCount, report.takenAt) = (.done, backup.byteCount, backup.takenAt)
            return report
        } catch let error as BackupFailure {
            await audit.tryAppend(.backup, by: server.actor, .failed(of: begun, reason: "\(error)"), detail: path)
            throw StartFailure(.files, "no backup was made: \(error)")
        } catch let error as AuditLogError {
            throw StartFailure(error)
        }
    }

    private struct BackupJSON: Encodable {
        let path: String
        let bytes: Int
        let takenAt: String
        let vaultKeyIncluded: Bool
    }
}
