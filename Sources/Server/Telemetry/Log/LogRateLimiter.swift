package import Logging
internal import Synchronization

/// A limit on log lines of one kind, for events whose rate a peer controls.
///
/// The next line reports how many lines were suppressed before it, so that a flood neither fills the disk nor goes
/// unnoticed.
package final class LogRateLimiter: Sendable {
    private struct State {
        var end: ContinuousClock.Instant
        var written = 0
        var suppressed = 0
    }

    private let burst: Int
    private let interval: Duration
    private let state: Mutex<State>

    /// Allows `burst` lines per interval.
    ///
    /// An interval begins with its first line.
    package init(burst: Int, each interval: Duration) {
        self.burst = burst
        self.interval = interval
        self.state = Mutex(State(end: .now))
    }

    /// Counts a line that the caller suppressed for another reason.
    ///
    /// The next allowed line reports it.
    package func suppress() { self.state.withLock { $0.suppressed += 1 } }

    /// Returns the metadata for a line that may be written, or nil if the line is suppressed.
    ///
    /// The value `unwritten` is the number of lines suppressed before it, if any.
    package func allow(_ metadata: Logger.Metadata) -> Logger.Metadata? {
        self.allow().map { Self.metadata(metadata, suppressed: $0) }
    }

    /// Adds the number of suppressed lines, if any, to a line's metadata.
    package static func metadata(_ metadata: Logger.Metadata, suppressed: Int) -> Logger.Metadata {
        var metadata = metadata
        if suppressed > 0 { metadata["unwritten"] = "\(suppressed)" }
        return metadata
    }

    /// Returns the number of lines suppressed before this one, or nil if this line is suppressed.
    package func allow(at now: ContinuousClock.Instant = .now) -> Int? {
        self.state.withLock { state in
            if now >= state.end {
                state.end = now + self.interval
                state.written = 0
            }
            guard state.written < self.burst else {
                state.suppressed += 1
                return nil
            }
            state.written += 1
            defer { state.suppressed = 0 }
            return state.suppressed
        }
    }
}
