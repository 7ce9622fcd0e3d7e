internal import Metrics

/// Counters of one receiver kind's lines; every line is eventually counted as delivered or dropped.
struct HookMeters: Sendable {
    /// Lines that the receiver's end accepted.
    let delivered: Counter
    /// Lines rejected by a full queue, or still queued when the server stopped.
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
