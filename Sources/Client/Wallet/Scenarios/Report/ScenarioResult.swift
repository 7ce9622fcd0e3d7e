/// The result of one scenario.
package struct ScenarioResult: Hashable, Sendable {
    package var path: String
    package var caseID: String
    package var title: String
    package var outcome: Outcome
    /// The real time from the first to the last step, including the server's start.
    package var duration: Duration
    /// The number of executed steps of the file.
    package var stepsDone: Int
    package var stepsInAll: Int
    /// The steps of the flows that were taken, each once, in order of first occurrence.
    package var reached: [String]
    /// The steps that were skipped, with their reasons.
    package var skips: [Skip]
    /// The folder of the lab and the phones, if it was kept.
    package var folder: String?

    package enum Outcome: Hashable, Sendable {
        case passed
        case failed(Failure)
        /// No expectation failed, but a step could not be executed, for this reason.
        case skipped(String)
    }

    /// A skipped step of the file.
    package struct Skip: Hashable, Sendable {
        package var line: Int
        package var step: String
        package var reason: String
    }

    /// The information about a failure that a tester needs.
    package struct Failure: Hashable, Sendable {
        /// The line in the file; 0 before the first step.
        package var line: Int
        /// The step's text.
        package var step: String
        /// The reason in one sentence.
        package var message: String
        /// Expected and actual values; empty if the step did not compare values.
        package var differences: [Difference] = []
        /// The current screen, in lines.
        package var screen: [String] = []
        /// The steps of the flows since the last `trace`.
        package var trace: [String] = []
        /// The server's log lines that concern the wallet.
        package var log: [String] = []
    }

    /// A value that differs from the expected one.
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
    /// Seconds with three decimals, for reports.
    var secondsText: String {
        let (seconds, attoseconds) = self.components
        let thousandths = attoseconds / 1_000_000_000_000_000
        let digits = "\(thousandths)"
        return "\(seconds).\(String(repeating: "0", count: max(0, 3 - digits.count)))\(digits)"
    }
}
