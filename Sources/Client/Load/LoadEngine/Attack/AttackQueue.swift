internal import LoadPlan
internal import LoadReport
internal import Vocabulary

/// The wallets in an attack, in the order they can be attacked.
struct AttackQueue {
    private var ready: ArraySlice<Int>
    private var blocked: [(until: Timestamp, index: Int)] = []
    /// The total time by which a lab's clock was advanced to get past their blocks.
    private(set) var advanced = Duration.zero

    /// Creates a queue of all wallets, in random order.
    init(count: Int, using generator: inout PlanGenerator) {
        self.ready = (0..<count).shuffled(using: &generator)[...]
    }

    /// Takes the ready wallet that was attacked least recently.
    mutating func take() -> Int? { self.ready.popFirst() }

    /// Adds a wallet that can be attacked again.
    mutating func append(_ index: Int) { self.ready.append(index) }

    /// Adds a wallet that is blocked.
    mutating func append(_ index: Int, blockedUntil end: Timestamp) { self.blocked.append((end, index)) }

    /// The end of the last block, or nil if no wallet is blocked.
    var lastEnd: Timestamp? { self.blocked.map(\.until).max() }

    /// Makes all blocked wallets ready, after the clock was advanced past their blocks.
    mutating func release(after duration: Duration) {
        self.advanced += duration
        self.ready += self.blocked.map(\.index)
        self.blocked = []
    }
}

/// Collects an attack's measurements about once a second.
struct IntervalCollector {
    let recorder: Recorder
    let connections: Int
    private(set) var intervals: [Interval] = []
    /// The totals over all intervals.
    private(set) var totals = Totals()
    private var last = Duration.zero

    init(recorder: Recorder, connections: Int) {
        self.recorder = recorder
        self.connections = connections
    }

    /// Ends the current interval if it is long enough.
    ///
    /// Returns whether it did.
    @discardableResult
    mutating func take(at now: Duration, isLast: Bool) -> Bool {
        guard now > self.last, isLast || now - self.last >= .seconds(1) else { return false }
        let gauges = Gauges(connections: self.connections)
        let interval = self.recorder.takeInterval(from: self.last, to: now, gauges: gauges)
        self.last = now
        self.totals.add(interval)
        self.intervals.append(interval)
        return true
    }
}
