internal import ServerSettings

/// A line about a search on the terminal, shown at most twice a second.
final class Progress {
    private static let interval: Duration = .milliseconds(500)

    private var line = ProgressLine()
    private let start = ContinuousClock.now
    private var next = ContinuousClock.now
    private var calls: UInt = 0

    func show(_ text: () -> String) {
        self.calls &+= 1
        guard self.calls % 1024 == 0, case let now = ContinuousClock.now, now >= self.next else { return }
        self.next = now + Self.interval
        self.line.show("  \(text()), \((now - self.start).components.seconds) s")
    }

    /// Removes the line.
    func clear() {
        self.line.end()
    }
}
