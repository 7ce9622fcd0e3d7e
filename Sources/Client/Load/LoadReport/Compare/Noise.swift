/// The variation of a metric within one run.
///
/// The measured intervals are divided into at most ten batches, and the metric is computed for each batch. The spread
/// of the batches yields an estimate of the standard error of the whole run's value. Two equal servers differ by more
/// than three standard errors in fewer than one in a hundred comparisons. Each batch consists of consecutive intervals.
/// Because consecutive seconds are correlated, single intervals would understate the error.
struct Noise: Sendable {
    private static let batchLimit = 10
    private static let minimumBatches = 4
    private static let standardErrors = 3.0

    private let batches: [Totals]

    init(of intervals: [Interval]) {
        let count = min(Self.batchLimit, intervals.count)
        self.batches = (0..<count).map { place in
            Totals(of: intervals[(intervals.count * place / count)..<(intervals.count * (place + 1) / count)])
        }
    }

    /// Three standard errors of the run's value, in the metric's unit.
    ///
    /// Nil if the run has too few intervals, or if a batch lacks the metric.
    func halfRange(of metric: Metric, asShare isShare: Bool) -> Double? {
        // A correct server never causes violations, so they are never due to chance.
        if metric.kind == .violations { return 0 }
        let values = self.batches.compactMap { metric.value(of: $0, asShare: isShare) }
        guard values.count == self.batches.count, values.count >= Self.minimumBatches else { return nil }
        let count = Double(values.count)
        let mean = values.reduce(0, +) / count
        let deviation = (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / (count - 1)).squareRoot()
        return Self.standardErrors * deviation * self.weight(of: metric, isShare)
    }

    /// The standard error of the run's value relative to the standard deviation of the batches.
    private func weight(of metric: Metric, _ isShare: Bool) -> Double {
        let count = Double(self.batches.count)
        if isShare { return 1 / count.squareRoot() }
        return switch metric.kind {
        // The run's value is close to the mean over the batches.
        case .latency(.percentile), .latency(.mean), .serviceTime(.percentile), .serviceTime(.mean), .rate, .serverCPU:
            1 / count.squareRoot()
        // The run's value is the sum over the batches.
        case .count, .errors, .unexpected, .unsent, .outcome, .violations: count.squareRoot()
        // The run's value comes from a single batch.
        case .latency(.min), .latency(.max), .serviceTime(.min), .serviceTime(.max), .serverMemory: 1
        }
    }
}
