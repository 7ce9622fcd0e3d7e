package import Metrics
internal import Synchronization
internal import Vocabulary

/// Metrics about a store's thread.
///
/// They are recorded once per batch, so they add no cost to a PIN check.
package struct StoreMeters: Sendable {
    package let wait: Timer
    package let commit: Timer
    package let batch: Recorder
    package let failedBatches: Counter

    /// Creates the metrics.
    ///
    /// Must be called only once per store.
    package init(_ factory: any MetricsFactory) {
        self.wait = Timer(label: "remote_pin_store_queue_wait_seconds", factory: factory)
        self.commit = Timer(label: "remote_pin_store_commit_seconds", factory: factory)
        self.batch = Recorder(label: "remote_pin_store_batch_steps", factory: factory)
        self.failedBatches = Counter(label: "remote_pin_store_failed_batches_total", factory: factory)
    }

    /// Metrics that record nothing.
    package static let none = StoreMeters(NOOPMetricsHandler.instance)
}

extension Timer {
    /// Records a duration.
    package func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}

/// A histogram of commit durations, each measured from the first step to the end of the sync.
///
/// Every power of two is divided into eight buckets, so a reported value is at most one eighth too high. Recording a
/// value takes less than a microsecond.
package final class CommitLatency: Sendable {
    /// A summary of all commits since the start.
    package struct Summary: Hashable, Sendable {
        package var count = 0
        package var median: Duration = .zero
        package var p99: Duration = .zero

        package init() {}
    }

    private static let rangesPerDoubling = 8
    private static let rangeCount = 40 * CommitLatency.rangesPerDoubling

    private let counts = Mutex([Int](repeating: 0, count: CommitLatency.rangeCount))

    package init() {}

    /// Records the duration of a commit.
    package func note(_ duration: Duration) {
        self.counts.withLock { $0[Self.range(of: UInt64(clamping: duration.microseconds))] += 1 }
    }

    /// Returns the number of commits and the median and 99th percentile of their durations.
    package func summary() -> Summary {
        let counts = self.counts.withLock { $0 }
        var summary = Summary()
        summary.count = counts.reduce(0, +)
        guard summary.count > 0 else { return summary }
        /// Returns the upper bound of the bucket that contains this percentile.
        func quantile(_ percent: Int) -> Duration {
            let wanted = (summary.count * percent + 99) / 100
            var seen = 0
            for (range, count) in counts.enumerated() {
                seen += count
                if seen >= wanted { return .microseconds(Self.end(of: range)) }
            }
            return .zero
        }
        summary.median = quantile(50)
        summary.p99 = quantile(99)
        return summary
    }

    /// Returns the bucket for a value.
    ///
    /// Numbers up to seven microseconds each have their own bucket. Above that, the bucket is selected by the leading
    /// bit and the three bits after it.
    private static func range(of microseconds: UInt64) -> Int {
        guard microseconds >= UInt64(Self.rangesPerDoubling) else { return Int(microseconds) }
        let doublings = 63 - microseconds.leadingZeroBitCount
        let part = Int(microseconds >> UInt64(doublings - 3)) & 7
        return min((doublings - 2) * Self.rangesPerDoubling + part, Self.rangeCount - 1)
    }

    /// Returns the upper bound of a bucket, which is not part of it.
    private static func end(of range: Int) -> Int64 {
        guard range >= Self.rangesPerDoubling else { return Int64(range) + 1 }
        let doublings = range / Self.rangesPerDoubling + 2
        return Int64(8 + range % Self.rangesPerDoubling + 1) << Int64(doublings - 3)
    }
}
