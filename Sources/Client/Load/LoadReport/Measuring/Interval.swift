/// The measurements of one part of a run, usually one second.
package struct Interval: Sendable, Equatable, Codable {
    /// Whole microseconds since the run's start, as in the JSON.
    private var startMicros: Int64
    private var endMicros: Int64
    /// True if the interval belongs to the warm-up.
    ///
    /// Reports show it, but only its violations count towards the metrics.
    package var isWarmup: Bool
    /// True if the interval lies after the end of the plan or of the run.
    ///
    /// Answers to operations that were still in flight are counted, but the duration of the interval is not.
    package var isTail: Bool
    /// The plan's name for the stage.
    package var stage: String?
    /// Counts and times by operation; an operation that never ended in the interval has no entry.
    package var operations: [Operation: OperationFigures]
    /// Operations that were due but were not sent because the maximum number was in flight.
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

    /// The sums of this interval alone, for the display of a running test.
    package var totals: Totals { Totals(ofAll: CollectionOfOne(self)) }
}

/// The counts and times of one operation.
package struct OperationFigures: Sendable, Equatable, Codable {
    /// The number of operations by outcome.
    package var outcomes: [Outcome: Int]
    /// Answers other than the expected one.
    package var unexpected: Int
    /// The times since operations were due, for every outcome with ``Outcome/isTimed``.
    package var latency: Latencies
    /// The times since the same operations were sent.
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

/// The number of answers that no correct server gives, and descriptions of the first ones.
package struct Violations: Sendable, Equatable, Codable {
    /// The maximum number of descriptions that are kept, because a broken server can cause millions of violations.
    package static let exampleLimit = 20

    package private(set) var count = 0
    package private(set) var examples: [String] = []

    package init() {}

    /// Counts one violation.
    package mutating func add(_ text: String) {
        self.count += 1
        if self.examples.count < Self.exampleLimit { self.examples.append(text) }
    }

    /// Adds the violations of `other`.
    package mutating func add(_ other: Violations) {
        self.count += other.count
        self.examples += other.examples.prefix(Self.exampleLimit - self.examples.count)
    }
}

extension Duration {
    /// The duration in whole microseconds.
    var inMicroseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// The duration in seconds, including fractions.
    var inSeconds: Double { self / .seconds(1) }
}
