/// The result of one scenario.
package struct ScenarioResult: Hashable, Sendable {
    package var path: String
    package var caseID: String
    package var title: String
    /// The number of the repetition, from 1; nil if the scenario is played once.
    package var repetition: Int?
    package var outcome: Outcome
    /// The failures of the attempts before this one, with `--retries`.
    package var earlierFailures: [Failure] = []
    /// The real time from the first to the last step, including the server's start.
    package var duration: Duration
    /// The number of executed steps of the file.
    package var stepsDone: Int
    package var stepsInAll: Int
    /// The steps of the flows that were taken, each once, in order of first occurrence.
    package var reached: [String]
    /// The steps that were skipped, with their reasons.
    package var skips: [Skip]
    /// Every executed step, including the failed one.
    package var steps: [StepRecord] = []
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

    package var hasFailed: Bool { self.verdict == .failed }

    /// The word for the outcome in each format of the report.
    package enum Verdict: String, Sendable {
        case passed
        /// Passed only after a failed attempt.
        case flaky
        case failed
        case skipped
    }

    package var verdict: Verdict {
        switch self.outcome {
        case .passed: self.earlierFailures.isEmpty ? .passed : .flaky
        case .failed: .failed
        case .skipped: .skipped
        }
    }

    /// The case, with the repetition if there are several, and the title.
    var name: String { "\(self.caseID)\(self.repetition.map { " (\($0))" } ?? "") \(self.title)" }
}

extension ScenarioResult {
    /// A result of a scenario that has executed no step.
    init(_ scenario: Scenario, _ outcome: Outcome) {
        self.init(
            path: scenario.path,
            caseID: scenario.caseID,
            title: scenario.title,
            repetition: scenario.repetition,
            outcome: outcome,
            duration: .zero,
            stepsDone: 0,
            stepsInAll: scenario.steps.count + scenario.tearDown.count,
            reached: [],
            skips: []
        )
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
