internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import Logging
internal import PostgreSQLStore
internal import ServerSettings
internal import StoreMaintenance
internal import Synchronization
internal import MetricsEndpoint
internal import Telemetry
internal import Vocabulary
internal import WalletStore

/// Copies the embedded store of a stopped server into an empty database shared by several servers.
struct StoreCopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copy the embedded store of a stopped server into an empty PostgreSQL database.",
        discussion: """
            Set `store.kind: postgresql` in the configuration, keep `data.folder`, `vault.key-file` and `audit.file`, \
            stop the server, and run `store init` and then this, as the server's user. It copies every wallet with its \
            counted attempts, and everything else; then it reads both stores and compares their numbers of wallets \
            and their digests.

            No server uses the database before the copy is verified. From then on no server opens the embedded store, \
            which stays in its folder. If this command is killed, run it again: it continues after the last copied \
            wallet. If the embedded store was served in between, the copy is out of date: --anew removes the copied \
            wallets and begins again. So no epoch is opened, and no wallet is charged.

              remote-pin-server store copy --config /etc/remote-pin/server.yaml
              remote-pin-server store copy --json --from /var/lib/remote-pin/data \\
                --config /etc/remote-pin/server.yaml
            """
    )

    @Option(
        help: ArgumentHelp("The folder of the embedded store, if it is not `data.folder`.", valueName: "dir"),
        completion: .directory
    )
    var from: String?

    @Flag(help: "Remove an unfinished copy of another state of the store, and begin again.")
    var anew = false

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await ending {
            let loaded = try self.options.settings()
            let database = try DatabaseSettings.required(by: loaded.settings)
            let server = try await StoppedServer(loaded)
            try server.requireItsUser(for: "store copy")
            let files = try await ServerFiles(loaded)
            try await database.report().requireStore(in: database, for: files.policy)
            let key = RecordKey.derived(by: files.vault)
            let folder = self.from.map { ConfigurationOptions.absolute($0) } ?? server.dataFolder
            let source = try EmbeddedStore(folder: folder, key: key).openStopped(acceptingMoved: true)
            try await closing(await source.close()) {
                try await self.copy(source, in: folder, key: key, server, files, to: database)
            }
        }
    }

    private func copy(
        _ source: SQLiteWalletStore,
        in folder: String,
        key: RecordKey,
        _ server: StoppedServer,
        _ files: ServerFiles,
        to database: DatabaseSettings
    ) async throws {
        let epoch = try await StoreChecks.epoch(of: source, vault: files.vault)
        try await StoreChecks.checkVault(files, of: source, at: server.clock.now())
        let log = Logger(label: "remote-pin-server") { StreamLogHandler.standardError(label: $0) }
        // Rejects an older copy of the store, which lacks attempts and revocations.
        let audit = try await AuditAtStart(
            files: files,
            store: source,
            clock: server.clock,
            epoch: epoch,
            metrics: MetricRegistry(),
            log: log
        ).open()
        try await closing(await audit.close()) {
            let start = ContinuousClock.now
            let parts = database.parts(key: key, policy: files.policy) { reason, _ in
                StandardStreams.writeError("the database: \(reason)\n")
            }
            let report = try await self.copy(source, audit, server, database, parts)
            self.show(report, folder: folder, database, took: ContinuousClock.now - start)
        }
    }

    private func copy(
        _ source: SQLiteWalletStore,
        _ audit: AuditLog,
        _ server: StoppedServer,
        _ database: DatabaseSettings,
        _ parts: StoreParts
    ) async throws -> StoreCopy.Report {
        var parts = parts
        parts.acceptsUnfinishedCopy = true
        let target = try await database.open(parts)
        let line = Mutex(ProgressLine())
        let copy = StoreCopy(of: source, into: target) { stage, done, all in
            line.withLock { $0.show(stage.rawValue, done, of: all) }
        } record: { report in
            let result = "\(report.wallets) wallets, sha256 \(report.digest)"
            return StoredAuditMark(
                try await audit.append(
                    .storeCopied,
                    by: server.actor,
                    .done(of: nil, result: result),
                    detail: "into \(database.place)"
                )
            )
        }
        return try await closing(await target.close()) {
            defer { line.withLock { $0.end() } }
            return try await mapError(of: await copy.run(anew: self.anew)) { (error: any Error) in
                Self.failure(error, database)
            }
        }
    }

    private static func failure(_ error: any Error, _ database: DatabaseSettings) -> StartFailure {
        switch error {
        case let failure as StoreCopyFailure:
            let kind: StartFailure.Kind =
                switch failure {
                case .damaged, .differs: .data
                case .records: .configuration
                case .targetInUse, .sourceChanged: .notAllowed
                case .movedElsewhere: .operatorMustAct
                }
            return StartFailure(kind, "the store was not copied into \(database.place): \(failure)")
        case let error as AuditLogError: return StartFailure(error)
        case StoreError.corrupt:
            return StartFailure(.data, "the copy stopped: a value of one of the two stores cannot be read")
        default:
            return StartFailure(
                .unavailable,
                "the copy stopped, and no server uses it: \(error). Run the command again; it continues"
            )
        }
    }

    private func show(_ report: StoreCopy.Report, folder: String, _ database: DatabaseSettings, took: Duration) {
        let json: JSONObject = [
            "wallets": report.wallets,
            "copiedBefore": report.copiedBefore,
            "digest": report.digest,
            "wasFinished": report.wasFinished,
            "seconds": took / .seconds(1),
        ]
        self.output.print(json) { page in
            guard !report.wasFinished else {
                return page.line("the copy was finished before; nothing was done")
            }
            page.line(
                "\(page.good("copied")) \(Restoration.wallets(report.wallets)) into \(database.place) in \(took.spoken)"
            )
            page.line("both stores have the digest sha256 \(report.digest)")
            page.line("the store in \(folder) is no longer served; keep it until the database has a backup")
            page.line("next: remote-pin-server check-config, then serve, on each server with the same vault key")
        }
    }
}
