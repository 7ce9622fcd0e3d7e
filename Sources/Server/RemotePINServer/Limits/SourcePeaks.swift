internal import Metrics
internal import Synchronization

/// The largest use of each limit by one source within the last minute, from which an operator chooses the limits.
///
/// A use costs the call one atomic maximum. The server keeps no history: the monitoring system has it.
final class SourcePeaks: Sendable {
    /// The number of intervals of the timer in a minute, so that a scrape each minute misses no peak.
    static let intervals = 12

    private let gauge: Gauge
    private let newest = Atomic<Int>(0)
    private let recent = Mutex<[Int]>([])

    init(_ limit: String, _ factory: any MetricsFactory) {
        self.gauge = Gauge(label: "remote_pin_source_peak", dimensions: [("limit", limit)], factory: factory)
        self.gauge.record(0)
    }

    /// Notes the use of one source.
    func note(_ use: Int) { self.newest.max(use, ordering: .relaxed) }

    /// Ends an interval of the timer.
    func record() {
        let newest = self.newest.exchange(0, ordering: .relaxed)
        let peak = self.recent.withLock { recent in
            recent = recent.suffix(Self.intervals - 1) + [newest]
            return recent.max() ?? 0
        }
        self.gauge.record(peak)
    }
}
