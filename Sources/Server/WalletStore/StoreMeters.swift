package import Metrics

/// What is measured of a store's thread: for each batch, never for a step, so that a check pays nothing.
package struct StoreMeters: Sendable {
    let wait: Timer
    let commit: Timer
    let batch: Recorder
    let failedBatches: Counter

    /// Made once for each store.
    package init(_ factory: any MetricsFactory) {
        self.wait = Timer(label: "remote_pin_store_queue_wait_seconds", factory: factory)
        self.commit = Timer(label: "remote_pin_store_commit_seconds", factory: factory)
        self.batch = Recorder(label: "remote_pin_store_batch_steps", factory: factory)
        self.failedBatches = Counter(label: "remote_pin_store_failed_batches_total", factory: factory)
    }

    /// Of a store that nobody measures.
    static let none = StoreMeters(NOOPMetricsHandler.instance)
}

extension Timer {
    /// Notes how long something took.
    func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
