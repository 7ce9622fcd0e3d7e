/// A named measurement in a run.
struct Metric: Sendable, Equatable {
    /// A statistic of a time distribution.
    enum Time: Sendable, Equatable {
        case percentile(Double)
        case min
        case max
        case mean
    }

    /// The quantity that is measured.
    enum Kind: Sendable, Equatable {
        /// The time since the operation was due.
        case latency(Time)
        /// The time since the operation was sent.
        case serviceTime(Time)
        /// Verdicts per second.
        case rate
        /// The number of operations that ended.
        case count
        /// The number of operations without a verdict.
        case errors
        case unexpected
        case violations
        case unsent
        case outcome(Outcome)
        /// The server's CPU time per operation.
        case serverCPU
        /// The server's peak resident memory.
        case serverMemory
    }

    /// The unit of the value.
    enum Unit: Sendable, Equatable {
        /// Microseconds.
        case time
        case count
        case perSecond
        case bytes
    }

    /// The operation, or nil for all operations together.
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

    /// Whether the value can be given as a fraction of the operations.
    var canBeShare: Bool {
        switch self.kind {
        case .errors, .unexpected, .unsent, .outcome: true
        case .latency, .serviceTime, .serverCPU, .rate, .count, .violations, .serverMemory: false
        }
    }

    /// Whether the value can never decrease during a run.
    var onlyGrows: Bool {
        switch self.kind {
        case .count, .errors, .unexpected, .violations, .unsent, .outcome, .serverMemory, .latency(.max),
            .serviceTime(.max):
            true
        case .latency, .serviceTime, .rate, .serverCPU: false
        }
    }

    /// Whether lower values are better, or nil if the metric is neither good nor bad.
    var lessIsBetter: Bool? {
        switch self.kind {
        case .latency, .serviceTime, .errors, .unexpected, .violations, .unsent, .serverCPU, .serverMemory: true
        case .rate: false
        case .count, .outcome: nil
        }
    }

    /// Returns the value in the metric's unit, or nil if nothing was measured.
    func value(of totals: Totals, asShare isShare: Bool = false) -> Double? {
        switch self.kind {
        case .latency(let time): Self.value(time, of: totals.figures(of: self.operation).latency)
        case .serviceTime(let time): Self.value(time, of: totals.figures(of: self.operation).serviceTime)
        case .rate: totals.rate(of: self.operation)
        case .violations: Double(totals.violations.count)
        case .unsent: Self.value(totals.unsent, of: totals.count + totals.unsent, isShare)
        case .serverCPU: totals.serverCPUMicrosecondsPerOperation
        case .serverMemory: totals.serverPeakResidentBytes.map { Double($0) }
        case .count: Double(totals.figures(of: self.operation).count)
        case .errors: self.value(of: totals, isShare, \.failures)
        case .unexpected: self.value(of: totals, isShare, \.unexpected)
        case .outcome(let outcome): self.value(of: totals, isShare) { $0.outcomes[outcome] ?? 0 }
        }
    }

    private func value(of totals: Totals, _ isShare: Bool, _ count: (OperationFigures) -> Int) -> Double? {
        let figures = totals.figures(of: self.operation)
        return Self.value(count(figures), of: figures.count, isShare)
    }

    /// Returns a part as a count or as a fraction of the whole.
    ///
    /// Returns nil if the whole is empty, because zero errors without any operations prove nothing.
    private static func value(_ part: Int, of whole: Int, _ isShare: Bool) -> Double? {
        guard whole > 0 else { return nil }
        return isShare ? Double(part) / Double(whole) : Double(part)
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
