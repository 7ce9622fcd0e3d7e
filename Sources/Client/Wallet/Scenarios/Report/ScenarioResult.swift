/// How one scenario went.
package struct ScenarioResult: Hashable, Sendable {
    package var path: String
    package var caseID: String
    package var title: String
    package var outcome: Outcome
    /// Real time from the first step to the last, the server's start included.
    package var duration: Duration
    /// Steps of the file that were done.
    package var stepsDone: Int
    package var stepsInAll: Int
    /// Steps of the flows that were taken, each once, in the order of the first time.
    package var reached: [String]
    /// What could not be done here, each with its reason.
    package var skips: [Skip]
    /// Where everything of it lies, when it was kept.
    package var folder: String?

    package enum Outcome: Hashable, Sendable {
        case passed
        case failed(Failure)
        /// Nothing was wrong as far as it went; it could not go on.
        case skipped(String)
    }

    /// A step of the file that was not done.
    package struct Skip: Hashable, Sendable {
        package var line: Int
        package var step: String
        package var reason: String
    }

    /// What a tester needs to know where a scenario went otherwise.
    package struct Failure: Hashable, Sendable {
        /// Where it stands in the file; 0 before the first step.
        package var line: Int
        /// The step, in words.
        package var step: String
        /// In one sentence.
        package var message: String
        /// What differed, side by side; empty where nothing was compared.
        package var differences: [Difference] = []
        /// The screen that was there, in lines.
        package var screen: [String] = []
        /// The steps of the flows since the last `trace`.
        package var trace: [String] = []
        /// The server's log lines that concern the wallet.
        package var log: [String] = []
    }

    /// One thing that is not as expected.
    package struct Difference: Hashable, Sendable {
        package var what: String
        package var expected: String
        package var seen: String
    }

    package var hasFailed: Bool {
        if case .failed = self.outcome { true } else { false }
    }
}

extension Duration {
    /// Seconds with three decimals, as reports write them.
    var secondsText: String {
        let (seconds, attoseconds) = self.components
        let thousandths = attoseconds / 1_000_000_000_000_000
        let digits = "\(thousandths)"
        return "\(seconds).\(String(repeating: "0", count: max(0, 3 - digits.count)))\(digits)"
    }
}
