/// The measurements of one part of a run, usually one second.
package struct Interval: Sendable, Equatable, Codable {
    /// Whole microseconds since the run's start, as in the JSON.
    private var startMicros: Int64
    private var endMicros: Int64
    /// True if the interval belongs to the warm-up: shown in reports, excluded from every metric but violations.
    package var isWarmup: Bool
    /// True if the interval lies after the end of the plan or of the run.
    ///
    /// Answers to operations still in flight count; the time of the interval does not.
    package var isTail: Bool
    /// The plan's name for the stage.
    package var stage: String?
    /// Counts and times by operation; an operation that never ended in the interval has no entry.
    package var operations: [Operation: OperationFigures]
    /// Operations that were due and not sent, because the maximum number was in flight.
    package var unsent: Int
    package var violations: Violations
    package var gauges: Gauges

    private enum CodingKeys: String, CodingKey {
        case startMicros, endMicros, stage, operations, unsent, violations, gauges
        case isWarmup = "warmup"
        case isTail = "tail"
    }

    package init(
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

    /// The time of its beginning, since the run's start.
    package var start: Duration {
        get { .microseconds(self.startMicros) }
        set { self.startMicros = newValue.inMicroseconds }
    }

    /// The time of its end, since the run's start; the next interval begins there.
    package var end: Duration {
        get { .microseconds(self.endMicros) }
        set { self.endMicros = newValue.inMicroseconds }
    }

    /// The sums of this interval alone, for the display of a running test.
    package var totals: Totals { Totals(ofAll: CollectionOfOne(self)) }
}

/// The counts and times of one operation.
package struct OperationFigures: Sendable, Equatable, Codable {
    /// The number of operations by outcome.
    package var outcomes: [Outcome: Int]
    /// Answers other than the expected one.
    package var unexpected: Int
    /// Times from the due time, of every outcome with ``Outcome/isTimed``.
    package var latency: Latencies
    /// Times from sending, of the same operations.
    package var serviceTime: Latencies

    private enum CodingKeys: String, CodingKey {
        case outcomes, unexpected
        case latency = "latencyMicros"
        case serviceTime = "serviceMicros"
    }

    package init(
        outcomes: [Outcome: Int] = [:],
        unexpected: Int = 0,
        latency: Latencies = Latencies(),
        serviceTime: Latencies = Latencies()
    ) {
        self.outcomes = outcomes
        self.unexpected = unexpected
        self.latency = latency
        self.serviceTime = serviceTime
    }

    /// Operations that ended, with any outcome.
    package var count: Int { self.outcomes.values.reduce(0, +) }

    /// Operations that ended without a verdict, except those that the end of the run interrupted.
    package var failures: Int { self.outcomes.reduce(0) { $0 + ($1.key.isError ? $1.value : 0) } }

    /// Operations that ended with a verdict.
    package var answered: Int { self.outcomes.reduce(0) { $0 + ($1.key.isFailure ? 0 : $1.value) } }

    /// Adds the counts and times of `other`.
    package mutating func add(_ other: OperationFigures) {
        self.outcomes.merge(other.outcomes, uniquingKeysWith: +)
        self.unexpected += other.unexpected
        self.latency.add(other.latency)
        self.serviceTime.add(other.serviceTime)
    }
}

/// Answers that no correct server gives: their number, and descriptions of the first ones.
package struct Violations: Sendable, Equatable, Codable {
    /// The maximum number of descriptions kept; a broken server causes millions of violations.
    package static let exampleLimit = 20

    package private(set) var count = 0
    package private(set) var examples: [String] = []

    package init() {}

    /// Counts one violation.
    package mutating func add(_ text: String) {
        self.count += 1
        if self.examples.count < Self.exampleLimit { self.examples.append(text) }
    }

    /// Adds those of `other`.
    package mutating func add(_ other: Violations) {
        self.count += other.count
        self.examples += other.examples.prefix(Self.exampleLimit - self.examples.count)
    }
}

extension Duration {
    /// Whole microseconds.
    var inMicroseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// Seconds with a fraction.
    var inSeconds: Double { self / .seconds(1) }
}
