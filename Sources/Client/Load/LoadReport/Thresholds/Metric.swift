/// A figure of a run that has a name.
struct Metric: Sendable, Equatable {
    /// What is taken of a distribution of times.
    enum Time: Sendable, Equatable {
        case percentile(Double)
        case min
        case max
        case mean
    }

    /// Which figure.
    enum Kind: Sendable, Equatable {
        /// From the due time.
        case latency(Time)
        /// From the sending.
        case serviceTime(Time)
        /// Verdicts per second.
        case rate
        /// Operations that ended.
        case count
        /// Operations without a verdict.
        case errors
        case unexpected
        case violations
        case unsent
        case outcome(Outcome)
        /// The server's CPU time for one operation.
        case serverCPU
        /// The most memory that the server had.
        case serverMemory
    }

    /// How the figure is written.
    enum Unit: Sendable, Equatable {
        case time
        case count
        case perSecond
        case bytes
    }

    /// Nil for all kinds together.
    let operation: Operation?
    let kind: Kind

    var unit: Unit {
        switch self.kind {
        case .latency, .serviceTime, .serverCPU: .time
        case .rate: .perSecond
        case .count, .errors, .unexpected, .violations, .unsent, .outcome: .count
        case .serverMemory: .bytes
        }
    }

    /// Whether it can be a share of the operations.
    var canBeShare: Bool {
        switch self.kind {
        case .errors, .unexpected, .unsent, .outcome: true
        case .latency, .serviceTime, .serverCPU, .rate, .count, .violations, .serverMemory: false
        }
    }

    /// Whether it never gets smaller while a run goes on.
    var onlyGrows: Bool {
        switch self.kind {
        case .count, .errors, .unexpected, .violations, .unsent, .outcome, .serverMemory, .latency(.max),
            .serviceTime(.max):
            true
        case .latency, .serviceTime, .rate, .serverCPU: false
        }
    }

    /// The figure in its unit, µs for times; nil while there is none.
    func value(of totals: Totals, asShare isShare: Bool = false) -> Double? {
        switch self.kind {
        case .latency(let time): Self.value(time, of: totals.figures(of: self.operation).latency)
        case .serviceTime(let time): Self.value(time, of: totals.figures(of: self.operation).serviceTime)
        case .rate: totals.rate(of: self.operation)
        case .violations: Double(totals.violations.count)
        case .unsent: self.unsent(totals, asShare: isShare)
        case .serverCPU: totals.serverCPUMicrosecondsPerOperation
        case .serverMemory: totals.serverPeakResidentBytes.map { Double($0) }
        case .count, .errors, .unexpected, .outcome: self.counted(totals, asShare: isShare)
        }
    }

    /// How an operation ended is not known where none did: a check without errors is not one that was never made.
    private func counted(_ totals: Totals, asShare isShare: Bool) -> Double? {
        let figures = totals.figures(of: self.operation)
        guard figures.count > 0 || self.kind == .count else { return nil }
        let count =
            switch self.kind {
            case .errors: figures.failures
            case .unexpected: figures.unexpected
            case .outcome(let outcome): figures.outcomes[outcome] ?? 0
            default: figures.count
            }
        return isShare ? Double(count) / Double(figures.count) : Double(count)
    }

    /// A share of what was due, which is what ended and what could not be sent.
    private func unsent(_ totals: Totals, asShare isShare: Bool) -> Double? {
        let due = totals.count + totals.unsent
        guard due > 0 else { return nil }
        return isShare ? Double(totals.unsent) / Double(due) : Double(totals.unsent)
    }

    private static func value(_ time: Time, of latencies: Latencies) -> Double? {
        switch time {
        case .percentile(let percent): latencies.percentile(percent).map { Double($0) }
        case .min: latencies.min.map { Double($0) }
        case .max: latencies.max.map { Double($0) }
        case .mean: latencies.mean
        }
    }
}
