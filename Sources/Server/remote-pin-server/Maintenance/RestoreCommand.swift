internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import PINPolicy
internal import ServerSettings
internal import StoreMaintenance
internal import Vocabulary
internal import WalletStore

/// Makes a stopped server's store of a backup.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Make the store of a stopped server of a backup, and open a new epoch.",
        discussion: """
            An older state would hand out guesses that were made already and revive what was revoked. So a restore opens an \
            epoch, in which every wallet pays for what may have been guessed, and does the audit log's revocations again. \
            The data folder must hold no store: nothing is ever overwritten. The audit log has to be at `audit.file`; damaged \
            ones that were moved away are read, too, where they stand beside it as `….before-ANYTHING`.

            Run it as the server's user (`sudo -u remote-pin …`), whose files it makes: the owner of the vault's key file. \
            It refuses to run as another, root included (exit status 77).

            --epoch says what a wallet pays until its next right PIN:
              strict      it is in its last round: at most one round of guesses is left (the rule of the protocol)
              charge-one  one wrong PIN more than in the backup, never the last one: for a backup of minutes ago
              trust       nothing: only where the backup is the last state there was, as after a move

            Where something that is sealed for a wallet does not open, though its key is the right one, nothing is restored \
            and the wallet is named; with --end-damaged it is ended, on record, and the others are restored.

            Without the whole audit log it names what is lost and asks for a phrase; --yes does not ask.

              remote-pin-server restore /var/backups/remote-pin/2026-11-21.backup --config server.yaml
              remote-pin-server restore moved.backup --epoch trust --lab /tmp/lab
            """
    )

    @Argument(help: ArgumentHelp("The backup.", valueName: "backup"), completion: .file())
    var backup: String

    @Option(
        help: ArgumentHelp("What every wallet pays: strict, charge-one or trust.", valueName: "rule"),
        completion: .list(EpochRule.allCases.map(\.rawValue))
    )
    var epoch = EpochRule.strict.rawValue

    @Option(
        help: ArgumentHelp("An entry that the audit log must have, as the server's log told it.", valueName: "mark")
    )
    var last: String?

    @Flag(help: "End the wallets for which something is sealed that does not open, instead of refusing the backup.")
    var endDamaged = false

    @Flag(help: "Do not ask; for scripts.")
    var yes = false

    @OptionGroup var server: StoppedServerOptions
    @OptionGroup var output: OutputOptions

    private static let phrase = "restore without the whole audit log"

    func validate() throws {
        guard EpochRule(rawValue: self.epoch) != nil else {
            throw ValidationError("`\(self.epoch)` is no rule; there are: strict, charge-one, trust.")
        }
        guard self.last.map({ AuditMark($0) != nil }) ?? true else {
            throw ValidationError("`\(self.last ?? "")` is no mark: NUMBER:MAC, as the server's log has it.")
        }
    }

    func run() async throws {
        try await ending {
            let server = try self.server.server()
            try server.requireItsUser(for: "restore")
            do {
                self.show(try await Restoration(self.parts(server)).run { plan in try self.ask(plan) })
            } catch let failure as RestoreFailure {
                throw StartFailure(failure)
            }
        }
    }

    private func parts(_ server: StoppedServer) -> Restoration.Parts {
        var parts = Restoration.Parts(
            backup: ConfigurationOptions.absolute(self.backup),
            dataFolder: server.dataFolder,
            auditLog: server.auditPath,
            vault: server.vault,
            clock: server.clock,
            actor: server.actor,
            rule: EpochRule(rawValue: self.epoch) ?? .strict,
            last: self.last.flatMap(AuditMark.init),
            stage: { stage in
                guard Terminal.isTerminal(2) else { return }
                StandardStreams.writeError("\(stage.spoken)\n")
            },
            onNewest: { StandardStreams.writeError("audit log newest=\($0)\n") }
        )
        parts.endsDamaged = self.endDamaged
        return parts
    }

    /// Asks where a promise is lost.
    private func ask(_ plan: Restoration.Plan) throws {
        guard let problem = plan.problem, !self.yes else { return }
        let warning = """
            \(problem)
            Without the whole log the promise is lost that a revoked wallet gets nothing (G7): what was revoked after \
            \(plan.takenAt.text), by whomever, works again, and codes that were denied since can be linked again.
            """
        try Phrase.ask(Self.phrase, because: warning)
    }

    private func show(_ report: Restoration.Report) {
        let json = RestoreJSON(
            epoch: report.epoch,
            rule: self.epoch,
            takenAt: report.takenAt.text,
            wallets: report.wallets,
            endedAgain: report.replayed.ended,
            deniedAgain: report.replayed.denied,
            damagedEnded: report.damaged.map(\.description),
            solutionRevoked: report.replayed.isSolutionRevoked,
            auditLogProblem: report.problem?.description
        )
        self.output.print(json) { page in
            page.line("\(page.good("restored")) \(Restoration.wallets(report.wallets)) as of \(report.takenAt.text)")
            page.line("epoch \(report.epoch), \(self.epoch)")
            page.line(
                "\(Restoration.wallets(report.replayed.ended)) ended again, "
                    + "\(report.replayed.denied) recovery code\(report.replayed.denied == 1 ? "" : "s") denied again"
                    + (report.replayed.isSolutionRevoked ? "; the solution is revoked" : "")
            )
            for wallet in report.damaged {
                page.line(page.bad("ended, since what is sealed for it does not open") + ": wallet \(wallet)")
            }
            if let problem = report.problem { page.line(page.bad("without the whole audit log") + ": \(problem)") }
        }
    }

    private struct RestoreJSON: Encodable {
        let epoch: Int
        let rule: String
        let takenAt: String
        let wallets: Int
        let endedAgain: Int
        let deniedAgain: Int
        let damagedEnded: [String]
        let solutionRevoked: Bool
        let auditLogProblem: String?
    }
}

extension Restoration.Stage {
    /// What is being done, for whoever waits.
    fileprivate var spoken: String {
        switch self {
        case .copying: "copying the backup"
        case .checking: "checking it"
        case .openingValues: "opening every sealed value"
        case .openingEpoch: "opening an epoch"
        case .replaying: "doing revocations again"
        case .recording: "writing to the audit log"
        case .placing: "putting the store in its place"
        case .finishing: "done"
        }
    }
}

extension StartFailure {
    /// Why a backup was not restored.
    init(_ failure: RestoreFailure) {
        let kind: Kind =
            switch failure {
            case .notABackup, .foreign, .damaged, .unsound, .sealed, .damagedWallets, .epochs: .data
            case .store(.inUse): .unavailable
            case .audit(let error): StartFailure(error).kind
            case .vault: .configuration
            case .store, .step, .file, .placed: .files
            }
        self.init(kind, "\(failure)")
    }
}
