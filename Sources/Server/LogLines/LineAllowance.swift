package import Logging
internal import Synchronization

/// How often one kind of line is written, where whoever connects decides how often there is reason to.
///
/// What is left out is told with the next line, so that a flood fills no disk and still shows in the log.
package final class LineAllowance: Sendable {
    private struct State {
        var end: ContinuousClock.Instant
        var written = 0
        var unwritten = 0
    }

    private let burst: Int
    private let time: Duration
    private let state: Mutex<State>

    /// So many lines in each stretch of time; from its first line to its end.
    package init(burst: Int, each time: Duration) {
        self.burst = burst
        self.time = time
        self.state = Mutex(State(end: .now))
    }

    /// One line is left out for a reason of its own; the next one that is taken tells of it.
    package func leaveOut() {
        self.state.withLock { $0.unwritten += 1 }
    }

    /// Takes a line with this metadata, and in it how many were left out before it (`unwritten`), if any; nil where this
    /// one is left out as well.
    package func take(_ metadata: Logger.Metadata) -> Logger.Metadata? {
        self.take().map { Self.metadata(metadata, unwritten: $0) }
    }

    /// The metadata of a line, with how many were left out before it, if any.
    package static func metadata(_ metadata: Logger.Metadata, unwritten: Int) -> Logger.Metadata {
        var metadata = metadata
        if unwritten > 0 { metadata["unwritten"] = "\(unwritten)" }
        return metadata
    }

    /// Takes a line: how many were left out before it; nil where this one is left out as well.
    package func take(at now: ContinuousClock.Instant = .now) -> Int? {
        self.state.withLock { state in
            if now >= state.end {
                state.end = now + self.time
                state.written = 0
            }
            guard state.written < self.burst else {
                state.unwritten += 1
                return nil
            }
            state.written += 1
            defer { state.unwritten = 0 }
            return state.unwritten
        }
    }
}
