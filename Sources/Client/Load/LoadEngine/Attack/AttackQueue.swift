internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import Vocabulary

/// The wallets of an attack, and the time at which each may be attacked.
struct AttackQueue {
    private var ready: ArraySlice<Int>
    private var blocked: [(until: Timestamp, index: Int)] = []
    /// By how much a lab's clock was moved for them.
    private(set) var advanced = Duration.zero

    /// All wallets, in an order by chance.
    init(count: Int, using generator: inout PlanGenerator) {
        self.ready = (0..<count).shuffled(using: &generator)[...]
    }

    /// One that nothing speaks against; the one attacked longest ago first.
    mutating func take() -> Int? { self.ready.popFirst() }

    mutating func attacked(_ index: Int) { self.ready.append(index) }

    mutating func isFree(_ index: Int) { self.ready.append(index) }

    mutating func isBlocked(_ index: Int, until end: Timestamp) { self.blocked.append((end, index)) }

    /// When the last of the blocks is over; nil where there is none.
    var lastEnd: Timestamp? { self.blocked.map(\.until).max() }

    /// All blocks are over, because the clock was moved.
    mutating func release(after duration: Duration) {
        self.advanced += duration
        self.ready += self.blocked.map(\.index)
        self.blocked = []
    }
}

extension RunContext {
    /// Takes a wallet into use; its past in the file is "unknown" until it is given back.
    func openForAttack(_ index: Int) throws(FleetFailure) -> CheckedWallet {
        do throws(FleetError) {
            return try self.histories.open(index)
        } catch {
            throw .fleet(error)
        }
    }

    /// Gives it back, with what is known of it now.
    func closeAfterAttack(_ wallet: CheckedWallet, at now: Timestamp) {
        do throws(FleetError) {
            try self.histories.close(wallet, at: now)
        } catch {
            self.events.end(.lost, failure: .fleet(error))
        }
    }
}

/// An attack's measurements, taken out about once a second.
struct IntervalCollector {
    let recorder: Recorder
    let connections: Int
    private(set) var intervals: [Interval] = []
    /// Of all intervals.
    private(set) var totals = Totals()
    private var last = Duration.zero

    init(recorder: Recorder, connections: Int) {
        self.recorder = recorder
        self.connections = connections
    }

    /// Whether an interval was taken.
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
