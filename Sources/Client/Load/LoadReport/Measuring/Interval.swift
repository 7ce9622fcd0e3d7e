/// What happened in a stretch of a run, usually a second.
package struct Interval: Sendable, Equatable {
    /// When it began, since the run's start.
    package var start: Duration
    /// When it ended, since the run's start; where the next one begins.
    package var end: Duration
    /// Whether it is shown but counts for nothing.
    package var isWarmup: Bool
    /// Whether it is after the plan's end, or the run's: answers that are still waited for count, its seconds do not.
    package var isTail: Bool
    /// The plan's name for what was going on.
    package var stage: String?
    /// What was done, by operation; only those that ended at least once are there.
    package var operations: [Operation: OperationFigures]
    /// Operations that were due and could not be sent, because as many as allowed were in flight.
    package var unsent: Int
    /// Answers that no correct server gives.
    package var violations: Violations
    package var gauges: Gauges

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
        self.start = start
        self.end = end
        self.isWarmup = isWarmup
        self.isTail = isTail
        self.stage = stage
        self.operations = operations
        self.unsent = unsent
        self.violations = violations
        self.gauges = gauges
    }

    /// The interval's own sums, for a line while the run goes on.
    package var totals: Totals { Totals(ofAll: CollectionOfOne(self)) }
}

/// One kind of operation's counts and times.
package struct OperationFigures: Sendable, Equatable {
    /// How many ended in each way.
    package var outcomes: [Outcome: Int]
    /// How many answers were not those for which the operations were made.
    package var unexpected: Int
    /// Times from when each was due; see ``Outcome/isTimed``.
    package var latency: Latencies
    /// Times from when each was sent.
    package var serviceTime: Latencies

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

    /// How many ended, in whatever way.
    package var count: Int { self.outcomes.values.reduce(0, +) }

    /// How many ended without a verdict, but for those that the run's end cut off.
    package var failures: Int { self.outcomes.reduce(0) { $0 + ($1.key.isError ? $1.value : 0) } }

    /// How many got a verdict.
    package var answered: Int { self.outcomes.reduce(0) { $0 + ($1.key.isFailure ? 0 : $1.value) } }

    /// Adds another's counts and times.
    package mutating func add(_ other: OperationFigures) {
        self.outcomes.merge(other.outcomes, uniquingKeysWith: +)
        self.unexpected += other.unexpected
        self.latency.add(other.latency)
        self.serviceTime.add(other.serviceTime)
    }
}

/// Answers that no correct server gives: how many, and the first of them in words.
package struct Violations: Sendable, Equatable, Codable {
    /// So many are kept in words; a broken server makes millions.
    package static let exampleLimit = 20

    package private(set) var count: Int
    package private(set) var examples: [String]

    package init() {
        self.count = 0
        self.examples = []
    }

    /// Counts one.
    package mutating func add(_ text: String) {
        self.count += 1
        if self.examples.count < Self.exampleLimit { self.examples.append(text) }
    }

    /// Counts another's.
    package mutating func add(_ other: Violations) {
        self.count += other.count
        self.examples += other.examples.prefix(Self.exampleLimit - self.examples.count)
    }
}
