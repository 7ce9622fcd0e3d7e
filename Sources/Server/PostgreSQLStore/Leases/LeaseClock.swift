internal import Synchronization
internal import Vocabulary

/// The time of all servers of a store: the database's clock at a renewal, plus the time since then.
///
/// It never runs back, also after a failover to a machine whose clock is behind.
final class LeaseClock: WallClock {
    /// The greatest uncertainty of the database's time with which a server serves.
    static let tolerance: Duration = .seconds(1)

    private struct State {
        /// The database's time at `since`.
        var time: Int64 = 0
        var since: Duration = .zero
        /// The newest time that was returned.
        var newest: Int64 = 0
    }

    private let elapsed: @Sendable () -> Duration
    private let state = Mutex(State())

    /// - Parameter elapsed: The time since the machine started.
    init(_ elapsed: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
    }

    /// Takes the database's time, which was read between two moments; returns false if it is too uncertain.
    func set(_ time: Int64, between start: Duration, and end: Duration) -> Bool {
        guard end - start <= Self.tolerance else { return false }
        self.state.withLock {
            $0.time = time
            $0.since = start + (end - start) / 2
        }
        return true
    }

    func now() -> Timestamp {
        let elapsed = self.elapsed()
        return self.state.withLock { state in
            state.newest = max(state.newest, state.time + Int64((elapsed - state.since) / .milliseconds(1)))
            return Timestamp(milliseconds: state.newest)
        }
    }
}
