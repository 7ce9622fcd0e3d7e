package import Metrics

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
