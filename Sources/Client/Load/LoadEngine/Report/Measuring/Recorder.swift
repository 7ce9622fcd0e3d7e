internal import Histogram
internal import Synchronization

/// Records the operations from several event loops and returns them in intervals.
///
/// Each event loop records into its own ``Lane``. The lane's lock is contended only once per interval, when its counts
/// are swapped for empty ones. Each operation is therefore counted in exactly one interval.
final class Recorder: Sendable {
    private struct State {
        var lanes: [Lane] = []
        var unsent = 0
        var violations = Violations()
    }

    private let state = Mutex(State())
    private let shared: Lane

    init() {
        let shared = Lane()
        self.shared = shared
        self.state.withLock { $0.lanes = [shared] }
    }

    /// Returns a new lane for one event loop.
    func makeLane() -> Lane {
        let lane = Lane()
        self.state.withLock { $0.lanes.append(lane) }
        return lane
    }

    /// Records an operation from any thread.
    ///
    /// Event loops use ``Lane/record(_:)``.
    func record(_ sample: Sample) { self.shared.record(sample) }

    /// Counts operations that were due while the maximum number was in flight.
    func recordUnsent(_ count: Int) { self.state.withLock { $0.unsent += count } }

    /// Records an answer that no correct server would give.
    func recordViolation(_ text: String) { self.state.withLock { $0.violations.add(text) } }

    /// Returns everything recorded since the last call.
    ///
    /// - Important: Calls must not overlap.
    func takeInterval(
        from start: Duration,
        to end: Duration,
        isWarmup: Bool = false,
        isTail: Bool = false,
        stage: String? = nil,
        gauges: Gauges = Gauges()
    ) -> Interval {
        let taken = self.state.withLock { state in
            defer {
                state.unsent = 0
                state.violations = Violations()
            }
            return state
        }
        return Interval(
            from: start,
            to: end,
            isWarmup: isWarmup,
            isTail: isTail,
            stage: stage,
            operations: Self.gathered(taken.lanes),
            unsent: taken.unsent,
            violations: taken.violations,
            gauges: gauges
        )
    }

    private static func gathered(_ lanes: [Lane]) -> [Operation: OperationFigures] {
        var sums = LaneCounts()
        for lane in lanes { lane.take(into: &sums) }
        return sums.figures()
    }
}

/// The part of a recorder that a single event loop writes to.
final class Lane: Sendable {
    private let counts = Mutex(LaneCounts())

    init() {}

    /// Records one operation.
    ///
    /// Allocates only for the first operation of each kind.
    func record(_ sample: Sample) { self.counts.withLock { $0.record(sample) } }

    /// Adds everything recorded since the last call to `sums`.
    func take(into sums: inout LaneCounts) {
        // The new counts are created without the lock. Zeroing their memory takes a tenth of the time that resetting
        // the used ones would take, while an event loop on the same core waits.
        let empty = LaneCounts(ranks: self.counts.withLock(\.ranks))
        let taken = self.counts.withLock { exchange(&$0, with: empty) }
        sums.add(taken)
    }
}

/// One completed operation.
struct Sample: Sendable {
    let operation: Operation
    let outcome: Outcome
    /// The time since the operation was due, including any wait for a stalled server.
    let latency: Duration
    /// The time since the first byte was sent.
    let serviceTime: Duration
    /// Whether this is the answer that the operation was meant to produce.
    ///
    /// A right PIN rejected because of a block is unexpected but correct. An answer that no correct server would give
    /// is also a violation; see ``Recorder/recordViolation(_:)``.
    var isExpected = true
}

/// The counts for a lane, in arrays indexed by rank.
///
/// A dictionary would be slower: hashing its keys would cost more than all other work for a sample.
struct LaneCounts: Sendable {
    private var operations: [OperationCounts?] = Array(repeating: nil, count: Operation.allCases.count)

    /// Creates empty counts, with memory for the operations of these ranks.
    init(ranks: [Int] = []) {
        for rank in ranks { self.operations[rank] = OperationCounts() }
    }

    /// The ranks of the operations that have memory.
    var ranks: [Int] { self.operations.indices.filter { self.operations[$0] != nil } }

    /// Records the outcome and times of one operation.
    mutating func record(_ sample: Sample) {
        let rank = sample.operation.rank
        if self.operations[rank] == nil { self.operations[rank] = OperationCounts() }
        self.operations[rank]?.record(sample)
    }

    mutating func add(_ other: LaneCounts) {
        for (rank, counts) in other.operations.enumerated() {
            guard let counts, !counts.isEmpty else { continue }
            if self.operations[rank] == nil {
                self.operations[rank] = counts
            } else {
                self.operations[rank]?.add(counts)
            }
        }
    }

    /// Returns the counts for every operation that ended at least once.
    func figures() -> [Operation: OperationFigures] {
        var figures: [Operation: OperationFigures] = [:]
        for operation in Operation.allCases {
            guard let counts = self.operations[operation.rank], !counts.isEmpty else { continue }
            figures[operation] = counts.figures()
        }
        return figures
    }
}

private struct OperationCounts: Sendable {
    private var answers: [Int] = Array(repeating: 0, count: Outcome.answers.count)
    private var failures: [String: Int] = [:]
    private var unexpected = 0
    private var latency = Latencies.emptyHistogram(of: UInt32.self)
    private var serviceTime = Latencies.emptyHistogram(of: UInt32.self)

    var isEmpty: Bool { self.failures.isEmpty && !self.answers.contains { $0 != 0 } }

    mutating func record(_ sample: Sample) {
        if let rank = sample.outcome.rank {
            self.answers[rank] += 1
        } else if case .failed(let reason) = sample.outcome {
            self.failures[reason, default: 0] += 1
        }
        if !sample.isExpected, !sample.outcome.isFailure { self.unexpected += 1 }
        guard sample.outcome.isTimed else { return }
        self.latency.record(sample.latency.microseconds)
        self.serviceTime.record(sample.serviceTime.microseconds)
    }

    mutating func add(_ other: OperationCounts) {
        for rank in self.answers.indices { self.answers[rank] += other.answers[rank] }
        self.failures.merge(other.failures, uniquingKeysWith: +)
        self.unexpected += other.unexpected
        self.latency.add(other.latency)
        self.serviceTime.add(other.serviceTime)
    }

    func figures() -> OperationFigures {
        var outcomes: [Outcome: Int] = [:]
        for (outcome, count) in zip(Outcome.answers, self.answers) where count != 0 { outcomes[outcome] = count }
        for (reason, count) in self.failures { outcomes[.failed(reason)] = count }
        return OperationFigures(
            outcomes: outcomes,
            unexpected: self.unexpected,
            latency: Latencies(self.latency),
            serviceTime: Latencies(self.serviceTime)
        )
    }
}

extension Duration {
    /// The duration in whole µs, clamped to the range from 0 to one hour.
    ///
    /// A negative duration, caused by a clock adjustment, becomes 0.
    fileprivate var microseconds: UInt64 {
        let (seconds, attoseconds) = self.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 3600 else { return Latencies.highest }
        return UInt64(seconds) * 1_000_000 + UInt64(attoseconds) / 1_000_000_000_000
    }
}
