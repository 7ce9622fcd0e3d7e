internal import Administration
internal import AdminProtocol
internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import ServerSettings
internal import StoreMaintenance
internal import Vocabulary
internal import WalletStore

/// Creates a backup of the store.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the store of a server, running or stopped, into one file.",
        discussion: """
            A running server copies its store itself, a few pages at a time, while it serves. The file then belongs to \
            the server's user, so the folder must be writable for that user. The file appears only when it is \
            complete, has mode 0600, and never overwrites another. It carries the vault's MAC: an altered backup \
            cannot be restored.

            The backup does not contain the vault's key. Without a copy of the key file a backup is useless; backup \
            and key together are as sensitive as the server, so store them separately. Keep the audit log of later \
            days too: a restore needs it.

            If the server is stopped, this also copies a store from before the last restore, which is not served. The \
            store that a mistaken restore replaced can thus be restored, in a new epoch.

            With --damaged it also copies a store that the server rejects because counted attempts are missing. The \
            copy holds what is left. Its restore repeats all revocations of the store's epoch and charges every wallet.

              remote-pin-server backup /var/backups/remote-pin/2026-11-21.backup \\
                --config server.yaml
              remote-pin-server backup before-the-upgrade.backup --lab /tmp/lab
            """
    )

    @Argument(help: ArgumentHelp("The file to create.", valueName: "dest"), completion: .file())
    var destination: String

    @Flag(help: "Copy the readable part of a stopped server's damaged store. Its restore charges every wallet.")
    var damaged = false

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = ConfigurationOptions.absolute(self.destination)
        try await ending {
            let made: FinishedBackup
            if try await self.server.isReachable() {
                guard !self.damaged else {
                    throw StartFailure(.notAllowed, "--damaged needs a stopped server, and this one is running")
                }
                made = try await self.fromRunning(to: path)
            } else {
                made = try await self.fromStopped(to: path)
            }
            self.output.print(made) { page in
                page.line("\(page.good("made")) \(made.path), \(made.bytes) bytes, as of \(made.takenAt?.text ?? "?")")
                page.line(
                    "the vault's key is not in it: keep a copy of the key file elsewhere, and the audit log's later "
                        + "entries"
                )
            }
        }
    }

    private func fromRunning(to path: String) async throws -> FinishedBackup {
        try await self.server.connected { server in
            let interval = ProgressInterval()
            var line = ProgressLine()
            defer { line.end() }
            var progress = try await server.call(StartBackup(path: path))
            while true {
                switch progress.state {
                case .done:
                    return FinishedBackup(path: path, bytes: progress.byteCount, takenAt: progress.takenAt)
                case .failed: throw StartFailure(.files, progress.problem ?? "the backup failed")
                case .running: line.show("copying", progress.pagesCopied, of: progress.pages)
                }
                try await interval.wait()
                guard let next = try await server.call(ShowMaintenance()).backup, next.path == path else {
                    throw StartFailure(
                        .unavailable,
                        "another backup was started, so the outcome of this one is unknown; check whether \(path) "
                            + "exists (an unfinished backup is named \(path).partial)"
                    )
                }
                progress = next
            }
        }
    }

    private func fromStopped(to path: String) async throws -> FinishedBackup {
        guard let loaded = try self.server.loaded() else {
            throw StartFailure(
                .unavailable,
                "no server answers there; to copy a stopped server's store, name its configuration"
            )
        }
        let server = try await StoppedServer(loaded)
        try server.requireItsUser(for: "backup")
        let store = try await server.openStore(acceptingDamage: self.damaged)
        return try await closing(await store.close()) {
            let epoch = try await StoreChecks.epoch(of: store, vault: server.vault)
            let earlier = try await server.earlierEpoch(epoch)
            let since = self.damaged ? try await server.beginning(of: epoch) : earlier?.beginning
            let audit = try await server.openAudit(epoch: earlier?.latest ?? epoch)
            let made = try await closing(await audit.close()) {
                try await self.make(path, store: store, server: server, audit: audit, of: earlier, since: since)
            }
            if let earlier {
                StandardStreams.writeError(
                    "the store has epoch \(epoch) and the audit log epoch \(earlier.latest): a restore of this backup "
                        + "repeats all revocations since the store's epoch began\n"
                )
            }
            return made
        }
    }

    /// Makes the backup and records its start and end in the audit log.
    ///
    /// - Parameters:
    ///   - earlier: The store's epoch, if a later epoch has begun since. The backup lacks the guesses made in the later
    ///     epoch. So it is dated to the end of the store's epoch, and not to the time at which it is made.
    ///   - since: The entry after which a restore repeats revocations. If nil, the entry named by the store is used.
    ///
    /// Invariant (G7): a restore of the backup repeats every revocation made while another store was in its place. If
    /// the store belongs to an earlier epoch, this includes the revocations made since that epoch began. It also
    /// includes those made after the entry that the store names, because the store may be an older copy.
    private func make(
        _ path: String,
        store: SQLiteWalletStore,
        server: StoppedServer,
        audit: AuditLog,
        of earlier: StoppedServer.EarlierEpoch?,
        since: AuditMark?
    ) async throws -> FinishedBackup {
        let named = self.damaged ? nil : try await store.auditMark().map { AuditMark($0) }
        // A store that has served wallets names an entry, unless another program removed it.
        let unnamed = try await store.walletCount() > 0 ? StoppedServer.noEntry : nil
        let maker = BackupMaker(
            store: store,
            vault: server.vault,
            clock: server.clock,
            stateOf: earlier?.end,
            isDamaged: self.damaged
        ) {
            // rule: server-older-store-undoes-ends
            since ?? named ?? unnamed ?? audit.newest
        }
        var begun: UInt64?
        do {
            begun = try await audit.append(.backup, by: server.actor, .begun, detail: path).number
            let backup = try await maker.make(at: path) { _, _ in }
            let result = "\(backup.byteCount) bytes, epoch \(backup.epoch)"
            try await audit.append(.backup, by: server.actor, .done(of: begun, result: result), detail: path)
            return FinishedBackup(path: path, bytes: backup.byteCount, takenAt: backup.takenAt)
        } catch let error as BackupFailure {
            await audit.tryAppend(.backup, by: server.actor, .failed(of: begun, reason: "\(error)"), detail: path)
            throw StartFailure(.files, "no backup was made: \(error)")
        } catch let error as AuditLogError {
            throw StartFailure(error)
        }
    }

    /// The output of `--json`.
    private struct FinishedBackup: Encodable {
        let path: String
        let bytes: Int
        let takenAt: Timestamp?
        let vaultKeyIncluded = false
    }
}
