internal import ConfigText
internal import Foundation
package import SimulatedPhone
internal import Vocabulary

package struct ScenarioResult: Hashable, Sendable {
    /// The scenario's file, without characters that a terminal interprets.
    package var path: String
    package var caseID: String
    package var title: String
    /// The repetition number, starting at 1, or nil if the scenario ran only once.
    package var repetition: Int?
    package var outcome: Outcome
    /// The failures of earlier attempts, if `--retries` is used.
    package var earlierFailures: [Failure] = []
    /// The wall-clock time from the first step to the last, including the server's startup.
    package var duration: Duration
    /// The number of the file's steps that were executed.
    package var stepsDone: Int
    package var stepsInAll: Int
    /// The flow steps that were taken, without duplicates, in order of first occurrence.
    package var reached: [String]
    /// The steps that were skipped, and why.
    package var skips: [Skip]
    /// All executed steps, including the one that failed.
    package var steps: [StepRecord] = []
    /// The folder with the lab and the phones, if it was kept.
    package var folder: String?

    package enum Outcome: Hashable, Sendable {
        case passed
        case failed(Failure)
        /// No expectation failed, but a step could not be executed for the given reason.
        case skipped(String)
        /// Failed, and marked with this reason as a known failure.
        case knownFailure(String, Failure)

        /// Returns the outcome with regard to the scenario's mark, if it has one.
        ///
        /// A marked scenario that passes has failed, so that the mark is removed.
        func judged(_ mark: KnownFailure?) -> Outcome {
            guard let mark else { return self }
            switch self {
            case .failed(let failure): return .knownFailure(mark.reason, failure)
            case .passed:
                let message = "the scenario passes, although it is marked: \(mark.reason); remove the key"
                return .failed(Failure(line: mark.line, step: "known failure", message: message))
            case .skipped, .knownFailure: return self
            }
        }

        /// The failure, whether or not it is known.
        var failure: Failure? {
            switch self {
            case .failed(let failure), .knownFailure(_, let failure): failure
            case .passed, .skipped: nil
            }
        }

        /// The outcome in a few words.
        var summary: String {
            switch self {
            case .knownFailure: "failed, as known"
            case .passed: "passed"
            case .failed(let failure): failure.line > 0 ? "failed in line \(failure.line)" : "failed"
            case .skipped: "skipped"
            }
        }
    }

    /// A step that was skipped.
    package struct Skip: Hashable, Sendable, Encodable {
        package var line: Int
        package var step: String
        package var reason: String
    }

    /// Everything a tester needs to know about a failure.
    package struct Failure: Hashable, Sendable, Encodable {
        /// The line in the file, or 0 if the failure happened before the first step.
        package var line: Int
        package var step: String
        /// The reason for the failure, in one sentence.
        package var message: String
        /// Expected and actual values; empty if the step did not compare any.
        package var differences: [Difference] = []
        /// The text of the screen, line by line.
        package var screen: [String] = []
        /// The flow steps taken since the last `trace`.
        package var trace: [String] = []
        /// The server log lines about this wallet.
        package var log: [String] = []

        /// The step and the message in one line.
        var summary: String { "\(self.line > 0 ? "line \(self.line), " : "")\(self.step): \(self.message)" }
    }

    /// A value that differs from what was expected.
    package struct Difference: Hashable, Sendable, Encodable {
        package var what: String
        package var expected: String
        package var seen: String
    }

    package var hasFailed: Bool { self.verdict == .failed }

    /// The outcome, as written in every report format.
    package enum Verdict: String, Sendable {
        case passed
        /// Passed, but only after a failed attempt.
        case flaky
        case failed, skipped
        /// Failed, as its mark states.
        case knownFailure = "known-failure"
    }

    package var verdict: Verdict {
        switch self.outcome {
        case .passed: self.earlierFailures.isEmpty ? .passed : .flaky
        case .failed: .failed
        case .skipped: .skipped
        case .knownFailure: .knownFailure
        }
    }

    /// The test case and title, with the repetition number if the scenario was repeated.
    var name: String { "\(self.caseID)\(self.repetition.map { " (\($0))" } ?? "") \(self.title)" }
}

extension ScenarioResult.Failure {
    /// The same failure without control characters, which could come from the scenario, the server or a page.
    var harmless: Self {
        var failure = self
        failure.message = TextLayout.harmless(self.message)
        failure.differences = self.differences.map { difference in
            ScenarioResult.Difference(
                what: TextLayout.harmlessLine(difference.what),
                expected: TextLayout.harmlessLine(difference.expected),
                seen: TextLayout.harmlessLine(difference.seen)
            )
        }
        failure.screen = self.screen.map(TextLayout.harmlessLine)
        failure.log = self.log.map(TextLayout.harmlessLine)
        return failure
    }
}

extension ScenarioResult {
    /// Creates the result of a scenario that did not execute any step.
    init(_ scenario: Scenario, _ outcome: Outcome) {
        self.init(
            path: TextLayout.harmlessLine(scenario.path),
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
    /// The duration in seconds with three decimals, for reports.
    var secondsText: String {
        let (seconds, attoseconds) = self.components
        let thousandths = attoseconds / 1_000_000_000_000_000
        let digits = "\(thousandths)"
        return "\(seconds).\(String(repeating: "0", count: max(0, 3 - digits.count)))\(digits)"
    }
}

/// A record of one executed step, for reports that show individual steps.
package struct StepRecord: Hashable, Sendable {
    package var line: Int
    package var text: String
    package var outcome = Outcome.done
    package var duration: Duration
    /// The phone in use after the step.
    ///
    /// Every phone has its own screen.
    package var phone: String
    /// The picture on the phone after the step.
    package var picture: Picture
    /// The flow steps that the app took during this step.
    package var trace: [String]
    /// The lines that the server logged during this step.
    package var log: [String] = []
    /// The time at which the step started, in milliseconds since 1970; used to match log lines to steps.
    package var startMilliseconds: Int64

    package enum Outcome: Hashable, Sendable {
        case done, failed
        case skipped(String)
    }
}

extension [StepRecord] {
    /// Assigns each log line to the last step that began before the line was written.
    ///
    /// A line without a timestamp belongs with the line before it. Lines logged before the first step are dropped.
    mutating func assign(log: String) {
        var index: Int?
        for line in log.split(separator: "\n").map(String.init) {
            if let time = LogTime.milliseconds(of: line) { index = self.lastIndex { $0.startMilliseconds <= time } }
            if let index { self[index].log.append(TextLayout.harmless(line)) }
        }
    }
}

/// Parses the timestamp of a server log line in either format.
enum LogTime {
    /// Returns the timestamp in milliseconds since 1970, or nil if the line does not start with one.
    static func milliseconds(of line: String) -> Int64? {
        var text = line[...]
        let name = "{\"time\":\""
        if text.hasPrefix(name) { text = text.dropFirst(name.count) }
        guard let end = text.prefix(30).firstIndex(of: "Z") else { return nil }
        return Timestamp(text: String(text[...end]))?.milliseconds
    }

    /// The current time according to the system clock, as used in the log.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
