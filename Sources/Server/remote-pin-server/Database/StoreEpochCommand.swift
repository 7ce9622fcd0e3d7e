internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import PINPolicy
internal import PostgreSQLClient
internal import PostgreSQLStore
internal import ServerSettings
internal import StoreMaintenance
internal import Synchronization
internal import WalletStore

/// Opens an epoch in a database that lacks commits.
struct StoreEpochCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "epoch",
        abstract: "Open an epoch in a database that was restored, or that lost commits in a failover.",
        discussion: """
            Such a database lacks guesses and revocations, so no server judges anything in it (exit status 79). The \
            epoch charges every wallet for the guesses, and repeats the revocations, denials and permanent blocks \
            that the audit logs of all servers record. Then the servers serve again.

            Stop all servers, and collect their audit logs and the files `….commits` beside them on one of them. The \
            log at `audit.file` is read in any case, and logs beside each one that were set aside as \
            `….before-ANYTHING`. A server whose log is missing or damaged must be named with --without: wallets that \
            it revoked since work again, and it begins a new log.

            --epoch sets the charge until the wallet's next right PIN:
              strict      the wallet is in its last round: at most one round of
                          guesses is left
              charge-one  one wrong PIN more, never the last one: only if the logs
                          show at most one lost commit
              trust       none: only if the logs show that no commit is lost, as
                          after a move of the database

            --dry-run reads everything and shows what would be done. If the command is killed, run it again.

              remote-pin-server store epoch --dry-run --audit pin2.audit \\
                --audit pin3.audit --config server.yaml
              remote-pin-server store epoch --yes --audit pin2.audit --without pin3 \\
                --config server.yaml
            """
    )

    @Option(help: ArgumentHelp("The charge for every wallet.", valueName: "rule"))
    var epoch = EpochRule.strict

    @Option(help: ArgumentHelp("The audit log of another server; repeat it.", valueName: "file"), completion: .file())
    var audit: [String] = []

    @Option(help: ArgumentHelp("A server whose audit log is lost or damaged; repeat it.", valueName: "server"))
    var without: [String] = []

    @Flag(help: "Show what would be done, and change nothing.")
    var dryRun = false

    @Flag(help: "Skip the question; for scripts.")
    var yes = false

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    private static let phrase = "open an epoch"

    func run() async throws {
        try await ending {
            let loaded = try self.options.settings()
            let database = try DatabaseSettings.required(by: loaded.settings)
            let server = try await StoppedServer(loaded)
            try server.requireItsUser(for: "store epoch")
            let report = try await database.report()
            try report.requireUsable(at: database.place)
            if let fault = report.schemaFault { throw database.failure(fault) }
            var parts = database.parts(
                key: RecordKey.derived(by: server.vault),
                policy: try ServerPolicy.values(of: loaded.settings)
            ) { reason, _ in StandardStreams.writeError("the database: \(reason)\n") }
            parts.target.applicationName = "remote-pin-server store epoch"
            EpochOpening.prepare(&parts)
            let store = try await database.open(parts)
            do {
                try await closing(await store.close()) { try await self.run(store, server, database, report) }
            } catch {
                throw Self.failure(error, database)
            }
        }
    }

    private func run(
        _ store: PostgreSQLWalletStore,
        _ server: StoppedServer,
        _ database: DatabaseSettings,
        _ report: DatabaseReport
    ) async throws {
        // Rejects epochs that no command with this vault opened.
        _ = try await StoreChecks.epoch(of: store, vault: server.vault)
        var parts = EpochOpening.Parts(
            store: store,
            server: database.server,
            auditLog: server.auditPath,
            vault: server.vault,
            clock: server.clock,
            actor: server.actor
        )
        parts.onNewest = { StandardStreams.writeError("audit log newest=\($0)\n") }
        parts.onWritten = try server.exporting()
        let opening = try await EpochOpening(
            parts,
            rule: self.epoch,
            logs: try self.audit.map { try Self.existing($0) },
            without: Set(self.without)
        )
        if self.dryRun { self.show(opening, nil) }
        try opening.check()
        try await opening.requireNoServers()
        if self.dryRun { return }
        if !self.yes { try Phrase.ask(Self.phrase, because: self.warning(of: opening, report)) }
        let line = Mutex(ProgressLine())
        let done = try await opening.run { done, all in
            line.withLock { $0.show("repeating", done, of: all) }
        }
        line.withLock { $0.end() }
        self.show(opening, done)
    }

    private static func existing(_ file: String) throws -> String {
        let path = ConfigurationOptions.absolute(file)
        guard AuditLog.exists(at: path) else { throw StartFailure(.files, "--audit: there is no \(path)") }
        return path
    }

    private func warning(of opening: EpochOpening, _ report: DatabaseReport) -> String {
        let loss = opening.lostCommits.map { "lacks \($0)" } ?? "may lack an unknown number of"
        let left =
            self.without.isEmpty
            ? ""
            : "\nWithout the logs of \(self.without.sorted().joined(separator: ", ")) the promise that a revoked "
                + "wallet gets nothing (G7) is lost for wallets that only these servers revoked."
        let version = report.schemaVersion ?? DatabaseReport.knownSchemaVersion
        let upgrade =
            version == DatabaseReport.knownSchemaVersion
            ? "" : "\nThe schema is upgraded from version \(version); there is no way back."
        return "The database \(loss) confirmed commits. Epoch \(opening.number) charges every wallet by the rule "
            + "\(self.epoch.rawValue).\(left)\(upgrade)"
    }

    private static func failure(_ error: any Error, _ database: DatabaseSettings) -> any Error {
        switch error {
        case let error as AuditLogError: StartFailure(error)
        case let error as PostgreSQLStoreOpenError: database.failure(error)
        case let error as StoreError:
            StartFailure(
                .unavailable,
                "the database \(database.place) takes no step: \(error). Run the command again; no server judges until "
                    + "it is done"
            )
        default: error
        }
    }

    private func show(_ opening: EpochOpening, _ report: ReplayReport?) {
        self.output.print(Self.json(opening, report)) { page in
            page.table(
                ["SERVER", "LOG", "LOST COMMITS"],
                opening.servers.map { server in
                    [
                        server.name, server.problem.map { "\($0)\(server.isLeftOut ? " (left out)" : "")" } ?? "intact",
                        server.lostCommits.map { "\($0)" } ?? "unknown",
                    ]
                }
            )
            let epoch = "epoch \(opening.number), \(self.epoch.rawValue)"
            guard let report else { return page.line("\(epoch), would be opened") }
            page.line("\(page.good("opened")) \(epoch)")
            page.line(
                "\(Restoration.wallets(report.ended)) ended again, \(report.denied) recovery "
                    + "code\(report.denied == 1 ? "" : "s") denied again, "
                    + "\(Restoration.wallets(report.blocked)) blocked permanently again"
                    + (report.isSolutionRevoked ? "; the solution is revoked" : "")
            )
            page.line("next: start the servers")
        }
    }

    /// The output of `--json`.
    private static func json(_ opening: EpochOpening, _ report: ReplayReport?) -> JSONObject {
        let servers = opening.servers.map { server -> JSONObject in
            [
                "name": server.name,
                "log": server.log,
                "problem": server.problem,
                "lostCommits": server.lostCommits,
                "leftOut": server.isLeftOut,
            ]
        }
        return [
            "epoch": opening.number,
            "rule": opening.rule.rawValue,
            "isOpened": report != nil,
            "servers": servers,
            "lostCommits": opening.lostCommits,
            "endedAgain": report?.ended,
            "deniedAgain": report?.denied,
            "blockedAgain": report?.blocked,
            "solutionRevoked": report?.isSolutionRevoked,
        ]
    }
}

extension EpochRule: ExpressibleByArgument {}
