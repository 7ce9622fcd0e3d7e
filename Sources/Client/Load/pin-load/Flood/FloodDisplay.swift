internal import HostSystem
internal import LoadFlood
internal import LoadReport
internal import Synchronization

/// Says on standard error what a flood does: on a terminal one line that changes, elsewhere a line now and then.
final class FloodDisplay: Sendable {
    private let flood: Flood
    private let isTerminal = Terminal.isTerminal(2)
    private let stopped = Atomic<Bool>(false)

    init(_ flood: Flood) {
        self.flood = flood
    }

    /// Someone asked to stop.
    func stop() {
        self.stopped.store(true, ordering: .relaxed)
        self.end()
        StandardStreams.writeError("stopping: connections are closed (again: ends at once)\n")
    }

    var isStopped: Bool { self.stopped.load(ordering: .relaxed) }

    /// Writes until the task is cancelled.
    func tick() async {
        while true {
            try? await Task.sleep(for: .seconds(self.isTerminal ? 1 : 5))
            if Task.isCancelled { return }
            let line = Self.line(self.flood.progress)
            let columns = Terminal.columns(of: 2) ?? 80
            StandardStreams.writeError(self.isTerminal ? "\r\u{1B}[K" + line.prefix(columns - 1) : line + "\n")
        }
    }

    /// The line goes.
    func end() {
        if self.isTerminal { StandardStreams.writeError("\r\u{1B}[K") }
    }

    static func line(_ progress: FloodProgress) -> String {
        let seconds = max(0.001, progress.elapsed / .seconds(1))
        var parts = [
            RunWords.clock(progress.elapsed),
            "opened \(progress.opened.grouped) (\(Int(Double(progress.opened) / seconds).grouped)/s)",
            "held \(progress.held.grouped)", "closed by the server \(progress.closedByServer.grouped)",
        ]
        if progress.notOpened > 0 { parts.append("not accepted \(progress.notOpened.grouped)") }
        if progress.unsent > 0 { parts.append("not begun \(progress.unsent.grouped)") }
        parts.append("sent \(Figure.bytes(Double(progress.bytesSent)))")
        return parts.joined(separator: "  ")
    }
}
