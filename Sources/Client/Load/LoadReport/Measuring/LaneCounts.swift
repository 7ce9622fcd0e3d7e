internal import Histogram

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

    /// Adds the counts of `other`.
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

/// The counts for one operation.
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
