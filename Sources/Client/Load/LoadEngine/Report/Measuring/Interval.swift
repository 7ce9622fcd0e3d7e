/// The measurements for part of a run, usually one second.
package struct Interval: Sendable, Equatable, Codable {
    /// The number of whole microseconds since the start of the run, as stored in the JSON.
    private var startMicros: Int64
    private var endMicros: Int64
    /// Whether the interval belongs to the warm-up.
    ///
    /// Reports show such intervals, but only their violations count towards the metrics.
    package var isWarmup: Bool
    /// Whether the interval comes after the end of the plan or of the run.
    ///
    /// Answers to operations still in flight are counted, but the duration of the interval is not.
    package var isTail: Bool
    package var stage: String?
    /// Counts and times by operation.
    ///
    /// An operation that never ended in the interval has no entry.
    package var operations: [Operation: OperationFigures]
    /// The number of operations that were due but not sent because the maximum number was in flight.
    package var unsent: Int
    package var violations: Violations
    package var gauges: Gauges

    private enum CodingKeys: String, CodingKey {
        case startMicros, endMicros, stage, operations, unsent, violations, gauges
        case isWarmup = "warmup"
        case isTail = "tail"
    }

    init(
        from start: Duration,
        to end: Duration,
        isWarmup: Bool = false,
        isTail: Bool = false,
        stage: String? = nil,
        operations: [Operation: OperationFigures] = [:],
        unsent: Int = 0,
        violations: Violations = Violations(),
        gauges: Gauges = Gauges()
    ) {
        self.startMicros = start.inMicroseconds
        self.endMicros = end.inMicroseconds
        self.isWarmup = isWarmup
        self.isTail = isTail
        self.stage = stage
        self.operations = operations
        self.unsent = unsent
        self.violations = violations
        self.gauges = gauges
    }

    /// The start of the interval, measured from the start of the run.
    package var start: Duration {
        get { .microseconds(self.startMicros) }
        set { self.startMicros = newValue.inMicroseconds }
    }

    /// The end of the interval, measured from the start of the run.
    ///
    /// The next interval begins at this time.
    package var end: Duration {
        get { .microseconds(self.endMicros) }
        set { self.endMicros = newValue.inMicroseconds }
    }

    /// The sums over this interval alone, for displaying a running test.
    package var totals: Totals { Totals(ofAll: CollectionOfOne(self)) }
}

package struct OperationFigures: Sendable, Equatable, Codable {
    package var outcomes: [Outcome: Int] = [:]
    /// The number of answers other than the expected one.
    package var unexpected = 0
    /// The times since the operations were due, for every outcome with ``Outcome/isTimed``.
    package var latency = Latencies()
    /// The times since the same operations were sent.
    var serviceTime = Latencies()

    private enum CodingKeys: String, CodingKey {
        case outcomes, unexpected
        case latency = "latencyMicros"
        case serviceTime = "serviceMicros"
    }

    /// The number of completed operations, successful or not.
    var count: Int { self.outcomes.values.reduce(0, +) }

    /// The number of operations that ended without a verdict, except those interrupted by the end of the run.
    var failures: Int { self.outcomes.reduce(0) { $0 + ($1.key.isError ? $1.value : 0) } }

    /// The number of operations that ended with a verdict.
    var answered: Int { self.outcomes.reduce(0) { $0 + ($1.key.isFailure ? 0 : $1.value) } }

    mutating func add(_ other: OperationFigures) {
        self.outcomes.merge(other.outcomes, uniquingKeysWith: +)
        self.unexpected += other.unexpected
        self.latency.add(other.latency)
        self.serviceTime.add(other.serviceTime)
    }
}

/// The number of answers that no correct server would give, with descriptions of the first few.
package struct Violations: Sendable, Equatable, Codable {
    /// The maximum number of descriptions to keep, because a broken server can cause millions of violations.
    static let exampleLimit = 20

    package private(set) var count = 0
    private(set) var examples: [String] = []

    mutating func add(_ text: String) {
        self.count += 1
        if self.examples.count < Self.exampleLimit { self.examples.append(text) }
    }

    mutating func add(_ other: Violations) {
        self.count += other.count
        self.examples += other.examples.prefix(max(Self.exampleLimit - self.examples.count, 0))
    }
}

extension Duration {
    var inMicroseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// The duration in seconds, including fractions.
    var inSeconds: Double { self / .seconds(1) }
}

/// The state at the end of an interval and the resources used during it.
///
/// Unknown values are nil.
package struct Gauges: Sendable, Equatable, Codable {
    /// The number of open connections, including idle ones.
    package var connections = 0
    /// The number of operations sent but not yet answered.
    package var inFlight = 0
    /// The planned arrival rate in operations per second, or nil in a closed loop.
    package var plannedRate: Double?
    /// The CPU seconds used by the server process in this interval.
    package var serverCPUSeconds: Double?
    package var serverResidentBytes: Int?
    /// The CPU seconds used by pin-load in this interval.
    package var toolCPUSeconds: Double?
    /// The CPU microseconds needed for one P-256 verification on the server's machine, measured in this interval.
    var verificationMicroseconds: Double?
}
