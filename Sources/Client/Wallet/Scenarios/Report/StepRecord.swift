package import TerminalApp

/// The record of one executed step of a scenario, for reports that show each step.
package struct StepRecord: Hashable, Sendable {
    /// The line in the file.
    package var line: Int
    /// The step's text.
    package var text: String
    package var outcome = Outcome.done
    package var duration: Duration
    /// The name of the phone after the step; several phones have several screens.
    package var phone: String
    /// The phone after the step.
    package var picture: Picture
    /// The steps of the flows that the app took in this step.
    package var trace: [String]
    /// The lines that the server wrote to its log in this step.
    package var log: [String] = []
    /// The start of the step in milliseconds since 1970, by which log lines are assigned.
    package var startMilliseconds: Int64

    package enum Outcome: Hashable, Sendable {
        case done
        case failed
        case skipped(String)
    }
}

extension [StepRecord] {
    /// Assigns each log line to the last step that began before the line was written.
    ///
    /// A line without a time belongs to the line above it. Lines from before the first step are left out.
    mutating func assign(log: String) {
        var index: Int?
        for line in log.split(separator: "\n").map(String.init) {
            if let time = LogTime.milliseconds(of: line) { index = self.lastIndex { $0.startMilliseconds <= time } }
            if let index { self[index].log.append(line) }
        }
    }
}
