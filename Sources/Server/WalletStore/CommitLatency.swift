internal import Synchronization

/// How long commits took, from the first step of each until it was synced.
///
/// Eight ranges for each doubling of the time: what is told is at most an eighth too long, and noting costs less than a
/// microsecond.
package final class CommitLatency: Sendable {
    /// What was noted since the start.
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

    /// A commit took this long.
    func note(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let microseconds = UInt64(clamping: seconds) * 1_000_000 + UInt64(clamping: attoseconds / 1_000_000_000_000)
        self.counts.withLock { $0[Self.range(of: microseconds)] += 1 }
    }

    /// Number, median and 99th percentile.
    package func summary() -> Summary {
        let counts = self.counts.withLock { $0 }
        var summary = Summary()
        summary.count = counts.reduce(0, +)
        guard summary.count > 0 else { return summary }
        /// The end of the range in which so many hundredths of the commits end.
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

    /// Up to seven microseconds each number has its own; from there on the three digits behind the first one count.
    private static func range(of microseconds: UInt64) -> Int {
        guard microseconds >= UInt64(Self.rangesPerDoubling) else { return Int(microseconds) }
        let doublings = 63 - microseconds.leadingZeroBitCount
        let part = Int(microseconds >> UInt64(doublings - 3)) & 7
        return min((doublings - 2) * Self.rangesPerDoubling + part, Self.rangeCount - 1)
    }

    /// The first number behind a range.
    private static func end(of range: Int) -> Int64 {
        guard range >= Self.rangesPerDoubling else { return Int64(range) + 1 }
        let doublings = range / Self.rangesPerDoubling + 2
        return Int64(8 + range % Self.rangesPerDoubling + 1) << Int64(doublings - 3)
    }
}
