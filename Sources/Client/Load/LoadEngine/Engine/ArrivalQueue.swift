internal import Synchronization

/// The arrivals in an open loop, in order.
///
/// Connections take arrivals from it when they become free. When a check is due depends only on the schedule. If no
/// connection is free, the check waits here, and its latency is measured from the time it was due. If too many checks
/// are in flight, including waiting ones, it is not sent but counted as unsent.
final class ArrivalQueue: Sendable {
    /// A check that a connection has taken from the queue.
    ///
    /// It might not be due yet.
    struct Arrival: Hashable, Sendable {
        let due: Duration
        /// Whether it has already been admitted; otherwise, ``ArrivalQueue/admit(_:)`` decides once it is due.
        let isAdmitted: Bool
    }

    struct State {
        var arrivals: Arrivals
        var next: Duration?
        var waiting: [Duration] = []
        /// The number of elements of `waiting` that have been taken.
        var head = 0
        var inFlight = 0
        /// The number of arrivals that were taken before they were due.
        var ahead = 0
        var unsent = 0

        var waitingCount: Int { self.waiting.count - self.head }
    }

    private let maxInFlight: Int
    private let state: Mutex<State>

    init(_ arrivals: Arrivals, maxInFlight: Int) {
        var arrivals = arrivals
        let next = arrivals.next()
        self.maxInFlight = maxInFlight
        self.state = Mutex(State(arrivals: arrivals, next: next))
    }

    /// Returns the next arrival for a free connection, or nil if the schedule has ended.
    func take(at now: Duration) -> Arrival? {
        self.state.withLock { state in
            state.advance(to: now, maxInFlight: self.maxInFlight)
            if state.waitingCount > 0 {
                state.inFlight += 1
                return Arrival(due: state.popWaiting(), isAdmitted: true)
            }
            guard let due = state.next else { return nil }
            state.next = state.arrivals.next()
            state.ahead += 1
            return Arrival(due: due, isAdmitted: false)
        }
    }

    /// Decides whether an arrival that is now due may be sent.
    ///
    /// If not, counts it as unsent.
    func admit(_ arrival: Arrival) -> Bool {
        arrival.isAdmitted
            || self.state.withLock { state in
                state.ahead -= 1
                guard state.inFlight + state.waitingCount < self.maxInFlight else {
                    state.unsent += 1
                    return false
                }
                state.inFlight += 1
                return true
            }
    }

    /// Returns an arrival that was not sent before the end of the run.
    ///
    /// If it was due, counts it as unsent.
    func release(_ arrival: Arrival, at now: Duration) {
        self.state.withLock { state in
            if arrival.isAdmitted { state.inFlight -= 1 } else { state.ahead -= 1 }
            if arrival.due <= now { state.unsent += 1 }
        }
    }

    /// Records that an admitted arrival received its response, or will not receive one.
    func finish() { self.state.withLock { $0.inFlight -= 1 } }

    /// Admits the arrivals that are due by now; returns the number of unsent ones since the last call.
    func advance(to now: Duration) -> Int {
        self.state.withLock { state in
            state.advance(to: now, maxInFlight: self.maxInFlight)
            defer { state.unsent = 0 }
            return state.unsent
        }
    }

    /// Removes the due arrivals that are still waiting at the end of the run; returns the number of unsent ones.
    func abandon(at now: Duration) -> Int {
        self.state.withLock { state in
            state.advance(to: now, maxInFlight: self.maxInFlight)
            defer {
                state.next = nil
                state.head = state.waiting.count
                state.unsent = 0
            }
            return state.unsent + state.waitingCount
        }
    }

    /// The number of checks that are due but have not been sent yet.
    var waiting: Int { self.state.withLock { $0.waitingCount } }

    /// Returns whether every check due by now has its response, and no connection is waiting for an arrival to become
    /// due.
    ///
    /// This includes checks that have become due since the last call.
    func isIdle(at now: Duration) -> Bool {
        self.state.withLock { state in
            state.advance(to: now, maxInFlight: self.maxInFlight)
            return state.inFlight + state.waitingCount + state.ahead == 0
        }
    }

    /// The number of checks that are due but have not been answered yet.
    var inFlight: Int { self.state.withLock { $0.inFlight + $0.waitingCount } }
}

extension ArrivalQueue.State {
    mutating func advance(to now: Duration, maxInFlight: Int) {
        while let due = self.next, due <= now {
            if self.inFlight + self.waitingCount < maxInFlight { self.waiting.append(due) } else { self.unsent += 1 }
            self.next = self.arrivals.next()
        }
    }

    mutating func popWaiting() -> Duration {
        defer {
            self.head += 1
            // Do this only occasionally, so that removing elements stays cheap.
            if self.head >= 4096, self.head * 2 >= self.waiting.count {
                self.waiting.removeFirst(self.head)
                self.head = 0
            }
        }
        return self.waiting[self.head]
    }
}
