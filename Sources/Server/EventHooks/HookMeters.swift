internal import Metrics

/// Counts what became of the lines for one receiver; each line in the end is one or the other.
struct HookMeters: Sendable {
    /// The receiver's side took it.
    let delivered: Counter
    /// There was no room for it, or it still waited when the server stopped.
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
