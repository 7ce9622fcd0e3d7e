/// How much a figure moves within one run, without anybody having changed anything.
///
/// The run's measured intervals are cut into at most ten batches of neighbors, and the figure is taken of each. What the batches differ
/// by says how far the run's own figure may be off: three standard errors, which chance reaches in less than one of a hundred
/// comparisons. Neighbors in a batch, because a second resembles the next one: single intervals would promise too much.
struct Noise: Sendable {
    private static let batchLimit = 10
    /// Below this nothing can be said about spread.
    private static let fewestBatches = 4
    private static let errors = 3.0

    private let batches: [Totals]

    init(of intervals: [Interval]) {
        let count = min(Self.batchLimit, intervals.count)
        self.batches = (0..<count).map { place in
            Totals(of: intervals[(intervals.count * place / count)..<(intervals.count * (place + 1) / count)])
        }
    }

    /// How far the run's figure may be off, in its unit; nil where the run has too few intervals, or one of the batches does not
    /// have the figure.
    func halfRange(of metric: Metric, asShare isShare: Bool) -> Double? {
        // One impossible answer is no chance.
        if metric.kind == .violations { return 0 }
        let values = self.batches.compactMap { metric.value(of: $0, asShare: isShare) }
        guard values.count == self.batches.count, values.count >= Self.fewestBatches else { return nil }
        let count = Double(values.count)
        let mean = values.reduce(0, +) / count
        let deviation = (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / (count - 1)).squareRoot()
        return Self.errors * deviation * self.weight(of: metric, isShare)
    }

    /// What the figure of all batches together does with the spread of one.
    private func weight(of metric: Metric, _ isShare: Bool) -> Double {
        let count = Double(self.batches.count)
        if isShare { return 1 / count.squareRoot() }
        return switch metric.kind {
        // A mean of the batches, more or less.
        case .latency(.percentile), .latency(.mean), .serviceTime(.percentile), .serviceTime(.mean), .rate, .serverCPU:
            1 / count.squareRoot()
        // The sum of them.
        case .count, .errors, .unexpected, .unsent, .outcome, .violations: count.squareRoot()
        // One of them: an extreme is as uncertain as a single batch.
        case .latency(.min), .latency(.max), .serviceTime(.min), .serviceTime(.max), .serverMemory: 1
        }
    }
}
