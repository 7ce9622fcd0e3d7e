internal import Foundation

/// A line about a search on the terminal; nothing if standard error is not one.
final class Progress {
    private static let interval: Duration = .milliseconds(500)
    private static let clearLine = "\r\u{1B}[K"

    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now
    private var next = ContinuousClock.now
    private var calls: UInt = 0

    /// Shows a text, at most twice a second.
    func show(_ text: () -> String) {
        self.calls &+= 1
        guard self.isTerminal, self.calls % 1024 == 0, case let now = ContinuousClock.now, now >= self.next else {
            return
        }
        self.next = now + Self.interval
        self.write("\(Self.clearLine)  \(text()), \((now - self.start).components.seconds) s")
    }

    /// Removes the line.
    func clear() {
        if self.isTerminal { self.write(Self.clearLine) }
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
