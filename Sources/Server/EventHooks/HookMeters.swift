internal import Metrics

/// Counts the lines for one kind of receiver.
///
/// Every line is eventually counted as delivered or dropped.
struct HookMeters: Sendable {
    /// Lines accepted by the receiver's end.
    let delivered: Counter
    /// Lines rejected because the queue was full, or still queued when the server stopped.
    let dropped: Counter

    init(_ kind: EventReceiverKind, _ factory: any MetricsFactory) {
        func counter(_ outcome: String) -> Counter {
            let dimensions = [("hook", kind.rawValue), ("outcome", outcome)]
            return Counter(label: "remote_pin_hook_events_total", dimensions: dimensions, factory: factory)
        }
        self.delivered = counter("delivered")
        self.dropped = counter("dropped")
    }
}
