internal import Synchronization
internal import Vocabulary

/// The time of all servers of a store: the database's clock at a renewal, plus the time since then.
///
/// It never runs back, also after a failover to a machine whose clock is behind.
///
/// Invariant (G3): the server follows the database's clock only in small steps, since a jump would end blocks early. It
/// detects a jump by the time that has passed on this machine. A difference may also mean that this machine was
/// suspended, so that its lease has ended for the other servers. In both cases the server must not judge or release
/// anything until the clocks agree again.
final class LeaseClock: WallClock {
    /// The greatest uncertainty of the database's time with which a server serves.
    static let tolerance: Duration = .seconds(1)
    /// The largest accepted difference between the database's clock and the expected time.
    static let largestStep: Duration = .seconds(2)

    /// The reason why a reading of the database's clock was rejected.
    enum Doubt: Hashable {
        /// The reading took this long.
        case uncertain(Duration)
        /// The clock differs from the expected time.
        case step(Duration)
        /// At the first reading, the clock is past the end of another server's lease, which is still in the table.
        case ahead(Duration)
    }

    private struct State {
        /// The database's time at `since`, or nil before the first reading.
        var time: Int64?
        var since: Duration = .zero
        /// The newest time that was returned.
        var newest: Int64 = 0
        /// The last difference between the database's clock and the expected time.
        var difference: Duration = .zero

        func expected(at elapsed: Duration) -> Int64? {
            self.time.map { $0 + Int64((elapsed - self.since) / .milliseconds(1)) }
        }
    }

    private let elapsed: @Sendable () -> Duration
    private let state = Mutex(State())

    /// - Parameter elapsed: The time since the machine started.
    init(_ elapsed: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
    }

    /// The last difference between the database's clock and the expected time.
    var difference: Duration { self.state.withLock(\.difference) }

    /// The time, or nil before the first reading.
    var known: Timestamp? { self.state.withLock { $0.time == nil } ? nil : self.now() }

    /// Sets the time to the database's clock, which was read between two moments; returns the reason if the reading is
    /// rejected, otherwise nil.
    ///
    /// - Parameters:
    ///   - newest: The time of the newest lease, to which the first reading sets the time.
    ///   - overdue: The longest time since the end of another server's lease by this clock, negative if none has ended;
    ///     nil without other leases.
    func set(
        _ clock: Int64,
        newest: Int64,
        overdue: Duration? = nil,
        between start: Duration,
        and end: Duration
    ) -> Doubt? {
        guard end - start <= Self.tolerance else { return .uncertain(end - start) }
        let middle = start + (end - start) / 2
        return self.state.withLock { state in
            let expected = state.expected(at: middle)
            state.difference = .milliseconds(clock - (expected ?? newest))
            guard (Duration.zero - Self.largestStep...Self.largestStep).contains(state.difference) else {
                return .step(state.difference)
            }
            // Invariant (G3): servers that serve have an earlier time, so the blocks that they tell wallets must not
            // end here. If no server serves, the lease ends soon.
            if expected == nil, let overdue, overdue > Self.largestStep { return .ahead(overdue) }
            (state.time, state.since) = (expected == nil ? newest : clock, middle)
            return nil
        }
    }

    func now() -> Timestamp {
        let elapsed = self.elapsed()
        return self.state.withLock { state in
            state.newest = max(state.newest, state.expected(at: elapsed) ?? 0)
            return Timestamp(milliseconds: state.newest)
        }
    }
}

extension LeaseClock.Doubt: CustomStringConvertible {
    /// The reason, with its remedy.
    var description: String {
        switch self {
        case .uncertain(let duration):
            "the database answered only after \(duration), so its time is uncertain; check its load and the network"
        case .step(let difference):
            "the database's clock differs by \(difference) from the time that has passed here; synchronize the clocks "
                + "of its machines with NTP, and restart this server if they are right"
        case .ahead(let difference):
            "another server's lease ended \(difference) ago by the database's clock. If that server runs, synchronize "
                + "the clocks of the database's machines with NTP; otherwise its lease is removed within its time"
        }
    }
}
