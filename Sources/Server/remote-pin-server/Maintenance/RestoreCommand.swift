internal import AdminProtocol
internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import OperatorChannels
internal import PINPolicy
internal import ServerSettings
internal import StoreMaintenance
internal import Vocabulary
internal import WalletStore

/// Restores a stopped server's missing store from a backup.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore a stopped server's store from a backup, and open a new epoch.",
        discussion: """
            An older state would allow guesses again that were already made, and revive revoked wallets. A restore \
            therefore opens an epoch, which charges every wallet for guesses that may have been made, and repeats the \
            audit log's revocations and permanent blocks. The data folder must not contain a store; nothing is \
            overwritten. The audit log must be at `audit.file`; damaged logs that were moved away are also read from \
            `….before-ANYTHING` in its folder.

            Run it as the server's user (`sudo -u remote-pin …`), the owner of the vault's key file, because it \
            creates that user's files. It rejects other users, including root (exit status 77).

            --epoch sets the charge until the wallet's next right PIN:
              strict      the wallet is in its last round: at most one round of
                          guesses is left (the protocol's rule)
              charge-one  one wrong PIN more than in the backup, never the last one:
                          for a backup of minutes ago
              trust       none: only if the backup is the last state of the store,
                          as after a move

            If a value sealed for a wallet does not open although its key is right, or its attempt record was altered, \
            nothing is restored and the wallet is named. With --end-damaged that wallet is ended, on record, and the \
            others are restored.

            Without the complete audit log it lists the losses and asks you to type a phrase; --yes skips that.

              remote-pin-server restore /var/backups/remote-pin/2026-11-21.backup \\
                --config server.yaml
              remote-pin-server restore moved.backup --epoch trust --lab /tmp/lab
            """
    )

    @Argument(help: ArgumentHelp("The backup.", valueName: "backup"), completion: .file())
    var backup: String

    @Option(help: ArgumentHelp("The charge for every wallet.", valueName: "rule"))
    var epoch = EpochRule.strict

    @Option(
        help: ArgumentHelp("A mark from the server's log that the audit log must contain.", valueName: "mark"),
        transform: auditMark
    )
    var last: AuditMark?

    @Flag(help: "End the wallets that have a damaged value or attempt record, instead of rejecting the backup.")
    var endDamaged = false

    @Flag(help: "Restore for an exercise: hooks and witness learn nothing, and only `serve --drill` serves the store.")
    var drill = false

    @Flag(help: "Skip the question; for scripts.")
    var yes = false

    @OptionGroup var server: StoppedServerOptions
    @OptionGroup var output: OutputOptions

    private static let phrase = "restore without the whole audit log"

    func run() async throws {
        try await ending {
            let server = try await self.server.server(with: self.drill ? Drill.settings : [])
            try server.requireEmbeddedStore()
            try server.requireItsUser(for: "restore")
            do {
                var parts = try self.parts(server)
                if let witnessed = try await Witness.recorded(server.settings) { parts.witnessed = witnessed }
                self.show(try await Restoration(parts).run { plan in try self.ask(plan) })
            } catch let failure as RestoreFailure {
                throw StartFailure(failure)
            }
        }
    }

    private func parts(_ server: StoppedServer) throws -> Restoration.Parts {
        var parts = Restoration.Parts(
            backup: ConfigurationOptions.absolute(self.backup),
            dataFolder: server.dataFolder,
            auditLog: server.auditPath,
            vault: server.vault,
            clock: server.clock,
            actor: server.actor,
            rule: self.epoch,
            last: self.last,
            stage: { [drill, folder = server.dataFolder] stage in
                if stage == .placing { try Drill.setMark(drill, in: folder) }
                guard Terminal.isTerminal(2) else { return }
                StandardStreams.writeError("\(stage.spoken)\n")
            },
            onNewest: { StandardStreams.writeError("audit log newest=\($0)\n") }
        )
        parts.onWritten = try server.exporting()
        parts.endsDamaged = self.endDamaged
        return parts
    }

    /// Asks for confirmation if the restore would break a promise.
    private func ask(_ plan: Restoration.Plan) throws {
        guard let problem = plan.problem, !self.yes else { return }
        let warning = """
            \(problem)
            Without the complete log the promise that a revoked wallet gets nothing (G7) is lost: wallets revoked \
            after \(plan.takenAt.text) work again, and codes denied since then can be linked again.
            """
        try Phrase.ask(Self.phrase, because: warning)
    }

    private func show(_ report: Restoration.Report) {
        let json: JSONObject = [
            "epoch": report.epoch,
            "rule": self.epoch.rawValue,
            "takenAt": report.takenAt,
            "wallets": report.wallets,
            "endedAgain": report.replayed.ended,
            "deniedAgain": report.replayed.denied,
            "blockedAgain": report.replayed.blocked,
            "earlierRestores": report.earlierRestores,
            "damagedEnded": report.damaged,
            "solutionRevoked": report.replayed.isSolutionRevoked,
            "auditLogProblem": report.problem?.description,
        ]
        self.output.print(json) { page in
            page.line("\(page.good("restored")) \(Restoration.wallets(report.wallets)) as of \(report.takenAt.text)")
            page.line("epoch \(report.epoch), \(self.epoch.rawValue)")
            page.line(
                "\(Restoration.wallets(report.replayed.ended)) ended again, "
                    + "\(report.replayed.denied) recovery code\(report.replayed.denied == 1 ? "" : "s") denied again"
                    + ", \(Restoration.wallets(report.replayed.blocked)) blocked permanently again"
                    + (report.replayed.isSolutionRevoked ? "; the solution is revoked" : "")
            )
            if report.earlierRestores > 0 {
                page.line(
                    page.bad("this backup was restored \(Restoration.times(report.earlierRestores)) before")
                        + "; each restore may have granted further attempts"
                )
            }
            for wallet in report.damaged {
                page.line(page.bad("ended, since a value of it is damaged") + ": wallet \(wallet)")
            }
            if let problem = report.problem { page.line(page.bad("without the whole audit log") + ": \(problem)") }
        }
    }
}

extension Restoration.Stage {
    /// A description of the stage for the operator.
    fileprivate var spoken: String {
        switch self {
        case .copying: "copying the backup"
        case .checking: "checking it"
        case .openingValues: "opening every sealed value"
        case .openingEpoch: "opening an epoch"
        case .replaying: "repeating revocations"
        case .recording: "writing to the audit log"
        case .placing: "putting the store in its place"
        case .finishing: "done"
        }
    }
}

extension StartFailure {
    /// Converts the error of a failed restore.
    init(_ failure: RestoreFailure) {
        let kind: Kind =
            switch failure {
            case .notABackup, .foreign, .damaged, .unsound, .sealed, .damagedWallets, .uncharged, .epochs: .data
            case .store(.inUse): .unavailable
            case .audit(let error): StartFailure(error).kind
            case .vault: .configuration
            case .store, .step, .file, .placed: .files
            }
        self.init(kind, "\(failure)")
    }
}
