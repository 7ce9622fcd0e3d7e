import ArgumentParser
internal import ConfigText
internal import HostSystem
internal import SimulatedPhone
internal import WalletFlows

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain a code: the cause of an error, its id on the screen, or an exit status.",
        discussion: """
            Without a code, all are listed. docs/wallet-errors.md has the causes by topic.

            EXAMPLES

              wallet explain storage
              wallet explain wallet-access-data-4f2a99c1  # the id on an error screen
              wallet explain 14
            """
    )

    @Argument(
        help: ArgumentHelp("A cause, the id of an error screen, an exit status or an outcome.", valueName: "code")
    )
    var code: String?

    func run() throws {
        guard let code else {
            for cause in FailureCause.allCases { self.write(cause.rawValue, cause.explanation) }
            for status in WalletExitStatus.allCases { self.write(Self.name(status), status.explanation) }
            for (status, explanation) in Self.statusesOfRun { self.write(Self.name(status), explanation) }
            return
        }
        if let cause = Self.cause(code) {
            self.write(cause.rawValue, cause.explanation)
        } else if let status = WalletExitStatus.allCases.first(where: { "\($0.rawValue)" == code || $0.outcome == code }
        ) {
            self.write(Self.name(status), status.explanation)
        } else if let (status, explanation) = Self.statusesOfRun.first(where: { "\($0.status)" == code }) {
            self.write(Self.name(status), explanation)
        } else {
            let known = FailureCause.allCases.map(\.rawValue) + WalletExitStatus.allCases.map(\.outcome)
            let nearest = NearestName.to(code, among: known).map { "did you mean `\($0)`?" }
            let server = "an id without `wallet-` is the server's, whose log names the reason"
            let shown = PINArgument.masked(TextLayout.harmlessLine(code))
            StandardStreams.writeError("wallet: `\(shown)` is not a code of the wallet; \(nearest ?? server)\n")
            throw WalletExitStatus.usage.exitCode
        }
    }

    /// Returns the cause with the given name, or the cause contained in an id such as `wallet-access-data-4f2a99c1`.
    private static func cause(_ code: String) -> FailureCause? {
        if let cause = FailureCause(rawValue: code) { return cause }
        guard let match = code.wholeMatch(of: /wallet-([a-z-]+)-[0-9a-f]+/) else { return nil }
        return FailureCause(rawValue: String(match.1))
    }

    /// The exit statuses that only `wallet run` has.
    private static let statusesOfRun: [(status: Int32, explanation: String)] = [
        (1, "An expectation was not met, or a known failure passed. The report names the scenario and the line."),
        (69, "The server of --server does not answer, or the server program cannot be started."),
        (130, "A signal interrupted the run. The report has the scenarios that were finished."),
    ]

    private static func name(_ status: Int32) -> String { "wallet run (exit \(status))" }

    private static func name(_ status: WalletExitStatus) -> String { "\(status.outcome) (exit \(status.rawValue))" }

    private func write(_ name: String, _ explanation: String) {
        StandardStreams.writeOutput("\(name)\n")
        for line in TextLayout.wrapped(explanation.split(separator: " "), width: 76) {
            StandardStreams.writeOutput("    \(line)\n")
        }
    }
}
