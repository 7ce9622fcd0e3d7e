internal import ConfigText
package import TerminalApp

/// A record of one executed step, for reports that show individual steps.
package struct StepRecord: Hashable, Sendable {
    /// The line in the file.
    package var line: Int
    /// The text of the step.
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
    /// The time at which the step started, in milliseconds since 1970.
    ///
    /// Used to match log lines to steps.
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
    /// A line without a timestamp belongs with the line before it. Lines logged before the first step are dropped.
    mutating func assign(log: String) {
        var index: Int?
        for line in log.split(separator: "\n").map(String.init) {
            if let time = LogTime.milliseconds(of: line) { index = self.lastIndex { $0.startMilliseconds <= time } }
            if let index { self[index].log.append(TextLayout.harmless(line)) }
        }
    }
}
