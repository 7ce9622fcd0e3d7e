internal import LoadPlan
internal import Synchronization

/// What is due in an open loop, in order: connections take from it as they become free.
///
/// Nothing but the schedule makes a check due. One that finds no free connection waits here, and its latency counts
/// from when it was due. Beyond the most that may be in flight, waiting ones included, it is not sent at all and counted.
final class ArrivalQueue: Sendable {
    /// Due at a moment that may still come.
    struct Turn: Hashable, Sendable {
        let due: Duration
        /// Whether it was let in already; else ``ArrivalQueue/admit(_:)`` decides at its time.
        let isAdmitted: Bool
    }

    struct State {
        var arrivals: Arrivals
        var next: Duration?
        var waiting: [Duration] = []
        /// Of `waiting`, how many were taken.
        var head = 0
        var inFlight = 0
        /// Turns that were taken and whose time has yet to come.
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

    /// The next turn for a free connection; nil when the schedule has no more.
    func take(at now: Duration) -> Turn? {
        self.state.withLock { state in
            state.advance(to: now, maxInFlight: self.maxInFlight)
            if state.waitingCount > 0 {
                state.inFlight += 1
                return Turn(due: state.popWaiting(), isAdmitted: true)
            }
            guard let due = state.next else { return nil }
            state.next = state.arrivals.next()
            state.ahead += 1
            return Turn(due: due, isAdmitted: false)
        }
    }

    /// At its time: whether the turn is sent; counted as unsent otherwise.
    func admit(_ turn: Turn) -> Bool {
        turn.isAdmitted
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

    /// The run is over before the turn was sent: one that was due is unsent.
    func giveBack(_ turn: Turn, at now: Duration) {
        self.state.withLock { state in
            if turn.isAdmitted { state.inFlight -= 1 } else { state.ahead -= 1 }
            if turn.due <= now { state.unsent += 1 }
        }
    }

    /// One that was admitted has its answer, or will have none.
    func finish() {
        self.state.withLock { $0.inFlight -= 1 }
    }

    /// Lets in what is due by now, and counts what there is no room for; returns how many were unsent since the last call.
    func advance(to now: Duration) -> Int {
        self.state.withLock { state in
            state.advance(to: now, maxInFlight: self.maxInFlight)
            defer { state.unsent = 0 }
            return state.unsent
        }
    }

    /// Takes out what is due by now and still waits when the run is over; it is unsent.
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

    /// Due and not sent yet.
    var waiting: Int { self.state.withLock { $0.waitingCount } }

    /// Whether nothing is due by now that has no answer yet, nor does a connection wait for the time of its turn.
    ///
    /// What has become due and nobody has looked for yet is not forgotten.
    func isIdle(at now: Duration) -> Bool {
        self.state.withLock { state in
            state.advance(to: now, maxInFlight: self.maxInFlight)
            return state.inFlight + state.waitingCount + state.ahead == 0
        }
    }

    /// Due and not answered yet.
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
            // Now and then, so that what was taken does not stay for ever and taking stays cheap.
            if self.head >= 4096, self.head * 2 >= self.waiting.count {
                self.waiting.removeFirst(self.head)
                self.head = 0
            }
        }
        return self.waiting[self.head]
    }
}
