internal import HostSystem
internal import Secrets

/// Confirms an irreversible command with a phrase that the operator must type.
package enum Phrase {
    /// Prints the warning and asks for the phrase.
    ///
    /// - Throws: A ``StartFailure`` if something else is typed or standard input is not a terminal.
    package static func ask(_ phrase: String, because warning: String) throws {
        guard Terminal.isTerminal(0) else {
            throw StartFailure(.usage, "\(warning)\nthere is no terminal to ask at; in a script use --yes")
        }
        StandardStreams.writeError("\(warning)\nTo continue, type: \(phrase)\n> ")
        let typed = try? LineInput.withLine(from: 0, atMost: 256) { line in
            String(decoding: (0..<line.byteCount).map { line.byte(at: $0) }, as: UTF8.self)
        }
        guard typed == phrase else { throw StartFailure(.notDone, "the phrase does not match; nothing was done") }
    }
}

/// The interval at which to poll for progress.
///
/// It grows with the duration of the operation, because each poll adds an entry to the audit log.
package struct ProgressInterval {
    private static let shortest: Duration = .milliseconds(200)
    private static let longest: Duration = .seconds(15)
    private let start = ContinuousClock.now

    package init() {}

    /// Waits for a quarter of the time elapsed so far, within the limits.
    package func wait() async throws {
        let passed = ContinuousClock.now - self.start
        try await Task.sleep(for: max(Self.shortest, min(passed / 4, Self.longest)))
    }
}

/// Shows progress on a single terminal line, which is overwritten in place.
///
/// Shows nothing if standard error is not a terminal.
package struct ProgressLine {
    private let isShown: Bool
    private var last = ""

    package init() {
        self.isShown = Terminal.isTerminal(2)
    }

    package mutating func show(_ text: String) {
        guard self.isShown, text != self.last else { return }
        let rest = String(repeating: " ", count: max(0, self.last.count - text.count))
        StandardStreams.writeError("\r\(text)\(rest)")
        self.last = text
    }

    /// Shows a percentage.
    package mutating func show(_ what: String, _ done: Int, of all: Int) {
        self.show("\(what) \(all > 0 ? min(100, done * 100 / all) : 0) %")
    }

    /// Clears the line.
    package mutating func end() {
        guard self.isShown, !self.last.isEmpty else { return }
        StandardStreams.writeError("\r\(String(repeating: " ", count: self.last.count))\r")
        self.last = ""
    }
}
