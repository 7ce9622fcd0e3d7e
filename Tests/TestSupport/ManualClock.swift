internal import Synchronization
package import Vocabulary

/// A clock that only a test moves.
package final class ManualClock: WallClock {
    private let time: Mutex<Timestamp>

    /// Starts at a day in 2026 by default.
    package init(_ start: Timestamp = Timestamp(milliseconds: 1_795_000_000_000)) {
        self.time = Mutex(start)
    }

    package func now() -> Timestamp { self.time.withLock { $0 } }

    /// Moves the clock, forward or back.
    package func advance(by duration: Duration) {
        self.time.withLock { $0 = $0 + duration }
    }
}
