internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import HostSystem
internal import Synchronization

/// The state of a running command, in parts.
///
/// A terminal shows one part per line, whereas a log shows all parts on one line.
struct ProgressText: Sendable {
    let parts: [String]
    /// Parts that are highlighted on a terminal.
    let problems: [String]

    /// Creates the text.
    ///
    /// Empty parts are omitted.
    init(_ parts: [String], problems: [String] = []) {
        self.parts = parts.filter { !$0.isEmpty }
        self.problems = problems.filter { !$0.isEmpty }
    }
}

/// The display of a running command on standard error.
///
/// On a terminal, the display redraws a block of lines in place. Otherwise, it prints a line for each state.
final class ProgressDisplay: Sendable {
    private struct State {
        /// The number of lines on the terminal that the next block replaces.
        var drawnLines = 0
        var isStopping = false
        var isEnded = false
    }

    /// The running command, and the function that asks it to stop.
    private struct Running {
        let display: ProgressDisplay
        let stop: @Sendable () -> Void
    }

    /// Nil if no command runs, for example while its result is written.
    private static let running = Mutex<Running?>(nil)
    private static let signals: Void = ProcessEnd.onSignals([SIGINT, SIGTERM]) { _ in
        guard let running = ProgressDisplay.running.withLock(\.self), !running.display.isStopping else {
            ProcessEnd.atOnce(status: PinLoadStatus.interrupted.rawValue)
        }
        running.display.announceStop()
        running.stop()
    }

    private let isBlock: Bool
    private let hasColor: Bool
    private let state = Mutex(State())

    /// - Parameter wantsLines: Whether to print lines even on a terminal.
    init(wantsLines: Bool = false) {
        let environment = ProcessInfo.processInfo.environment
        self.isBlock = Terminal.isTerminal(2) && !wantsLines && environment["TERM"] ?? "dumb" != "dumb"
        self.hasColor = environment["NO_COLOR"] == nil
    }

    /// Whether a signal has asked the command to stop.
    var isStopping: Bool { self.state.withLock(\.isStopping) }

    /// Shows the new state.
    func show(_ text: ProgressText) {
        self.state.withLock { state in
            guard !state.isEnded else { return }
            guard self.isBlock else {
                StandardStreams.writeError((text.parts + text.problems).joined(separator: "  ") + "\n")
                return
            }
            let width = max(1, (Terminal.columns(of: 2) ?? 80) - 1)
            let lines =
                text.parts.map { "\($0.prefix(width))\u{1B}[K\n" }
                + text.problems.map { "\u{1B}[\(self.hasColor ? "1;31" : "1")m\($0.prefix(width))\u{1B}[0m\u{1B}[K\n" }
            let home = state.drawnLines > 0 ? "\u{1B}[\(state.drawnLines)A\r" : "\r"
            StandardStreams.writeError(home + lines.joined() + "\u{1B}[J")
            state.drawnLines = lines.count
        }
    }

    /// Refreshes the display twice per second on a terminal.
    ///
    /// Otherwise, it prints a line after one second, then every five seconds.
    private func follow(_ text: @Sendable () -> ProgressText) async {
        var pause: Duration = self.isBlock ? .milliseconds(500) : .seconds(1)
        while true {
            try? await Task.sleep(for: pause)
            if Task.isCancelled { return }
            self.show(text())
            if !self.isBlock { pause = .seconds(5) }
        }
    }

    /// Runs `body` and shows its state.
    ///
    /// The first SIGINT or SIGTERM calls `stop`, after which `body` should return. The second one, or one after `body`,
    /// ends the process.
    ///
    /// - Parameter text: The state to show at regular intervals, or nil if `body` itself calls ``show(_:)``.
    func run<Value, Failure: Error>(
        following text: (@Sendable () -> ProgressText)? = nil,
        stop: @escaping @Sendable () -> Void,
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        Self.running.withLock { $0 = Running(display: self, stop: stop) }
        Self.signals
        let following = text.map { text in Task { await self.follow(text) } }
        defer {
            Self.running.withLock { $0 = nil }
            following?.cancel()
            self.end()
        }
        return try await body()
    }

    private func announceStop() {
        self.state.withLock { state in
            state.isStopping = true
            // Leave this line in place and draw the next block below it.
            state.drawnLines = 0
            StandardStreams.writeError("stopping after the operations in flight; Ctrl-C again exits at once\n")
        }
    }

    private func end() { self.state.withLock { $0.isEnded = true } }
}

extension Duration {
    /// The duration in clock format, for example `0:09`, `12:34` or `1:02:03`.
    var clockText: String {
        let seconds = Int((self / .seconds(1)).rounded())
        func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = "\(seconds / 60 % 60):\(twoDigits(seconds % 60))"
        guard seconds >= 3600 else { return minutes }
        return "\(seconds / 3600):\(twoDigits(seconds / 60 % 60)):\(twoDigits(seconds % 60))"
    }
}
