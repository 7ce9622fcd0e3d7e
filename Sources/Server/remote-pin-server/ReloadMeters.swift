internal import Metrics
internal import RemotePINServer
internal import MetricsEndpoint
internal import Synchronization
internal import Vocabulary

/// Counts reloads by outcome and exports the time of the last reload with each outcome, so that stale files can be
/// detected.
final class ReloadMeters: Sendable {
    private let done: Counter
    private let refused: Counter
    private let clock: any WallClock
    private let lastDone: Atomic<Int64>
    /// The time of the last failed reload, or `Int64.min` if there is none.
    private let lastRefused = Atomic<Int64>(.min)

    /// Creates the meters and counts the start as a successful reload.
    init(_ registry: MetricRegistry, clock: any WallClock) {
        func counter(_ outcome: String) -> Counter {
            Counter(label: "remote_pin_reloads_total", dimensions: [("outcome", outcome)], factory: registry)
        }
        self.done = counter("done")
        self.refused = counter("refused")
        self.clock = clock
        self.lastDone = Atomic(clock.now().milliseconds)
        let time = "remote_pin_reload_timestamp_seconds"
        registry.probe(time, [("outcome", "done")]) { Self.seconds(self.lastDone.load(ordering: .relaxed)) }
        registry.probe(time, [("outcome", "refused")]) { Self.seconds(self.lastRefused.load(ordering: .relaxed)) }
    }

    /// Records the outcome of a reload.
    func note(_ parts: [ReloadedPart]) {
        let now = self.clock.now().milliseconds
        if parts.allSatisfy(\.reloaded) {
            self.done.increment()
            self.lastDone.store(now, ordering: .relaxed)
        } else {
            self.refused.increment()
            self.lastRefused.store(now, ordering: .relaxed)
        }
    }

    private static func seconds(_ milliseconds: Int64) -> Double? {
        milliseconds == .min ? nil : Double(milliseconds) / 1000
    }
}
