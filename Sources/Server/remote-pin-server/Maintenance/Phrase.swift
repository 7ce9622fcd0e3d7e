internal import HostSystem
internal import Secrets

/// A phrase that a person types before something that cannot be undone.
enum Phrase {
    /// Says what will be, asks for the phrase, and goes on only where it was typed.
    static func ask(_ phrase: String, because warning: String) throws {
        guard Terminal.isTerminal(0) else {
            throw StartFailure(.usage, "\(warning)\nthere is no terminal to ask at; a script says --yes")
        }
        StandardStreams.writeError("\(warning)\nTo go on, type: \(phrase)\n> ")
        let typed = try? LineInput.withLine(from: 0, atMost: 256) { line in
            String(decoding: (0..<line.byteCount).map { line.byte(at: $0) }, as: UTF8.self)
        }
        guard typed == phrase else { throw StartFailure(.notDone, "that is not the phrase; nothing was done") }
    }
}

/// When to ask again how far something is: each question is an entry of the audit log, so the longer it takes the rarer.
struct Patience {
    private static let shortest: Duration = .milliseconds(200)
    private static let longest: Duration = .seconds(15)
    private let start = ContinuousClock.now

    /// Waits for a quarter of the time that it has taken so far.
    func wait() async throws {
        let passed = ContinuousClock.now - self.start
        try await Task.sleep(for: max(Self.shortest, min(passed / 4, Self.longest)))
    }
}

/// How far something is, in one line of a terminal that is written over; nothing elsewhere.
struct ProgressLine {
    private let isShown: Bool
    private var last = ""

    init() {
        self.isShown = Terminal.isTerminal(2)
    }

    mutating func show(_ text: String) {
        guard self.isShown, text != self.last else { return }
        let rest = String(repeating: " ", count: max(0, self.last.count - text.count))
        StandardStreams.writeError("\r\(text)\(rest)")
        self.last = text
    }

    /// So many of a hundred.
    mutating func show(_ what: String, _ done: Int, of all: Int) {
        self.show("\(what) \(all > 0 ? min(100, done * 100 / all) : 0) %")
    }

    /// Clears the line.
    mutating func end() {
        guard self.isShown, !self.last.isEmpty else { return }
        StandardStreams.writeError("\r\(String(repeating: " ", count: self.last.count))\r")
        self.last = ""
    }
}
