internal import Logging
internal import Telemetry
internal import Metrics
internal import Synchronization
package import Transport

/// Counts connections and calls rejected by a capacity limit or a per-source limit, and logs them at a limited rate.
///
/// All counters are created once. If each rejection were logged, a client could fill the disk.
final class LimitMetrics: Sendable {
    private let limited: [SourceLimit: Counter]
    private let refused: [RefusedConnections.Reason: Counter]
    private let failed: [String: Counter]
    private let handshakes: Gauge
    private let sources: Gauge
    let peaks: [SourceLimit: SourcePeaks]
    let connectionPeak: SourcePeaks
    private let lines = LogRateLimiter(burst: 1, each: .seconds(10))

    init(_ factory: any MetricsFactory) {
        func counters<Key: Hashable>(
            _ label: String,
            _ dimension: String,
            _ keys: [Key],
            _ name: (Key) -> String
        ) -> [Key: Counter] {
            keys.reduce(into: [:]) { counters, key in
                counters[key] = Counter(label: label, dimensions: [(dimension, name(key))], factory: factory)
            }
        }
        self.limited = counters("remote_pin_calls_limited_total", "limit", SourceLimit.allCases, \.rawValue)
        self.refused = counters(
            "remote_pin_connections_refused_total",
            "limit",
            RefusedConnections.Reason.allCases,
            \.metricName
        )
        self.failed = counters(
            "remote_pin_handshake_failures_total",
            "reason",
            ConnectionFailure.metricNames,
            { $0 }
        )
        self.handshakes = Gauge(label: "remote_pin_handshakes_in_progress", factory: factory)
        self.sources = Gauge(label: "remote_pin_sources", factory: factory)
        let peaks = SourceLimit.allCases.map { ($0, SourcePeaks($0.rawValue, factory)) }
        self.peaks = Dictionary(uniqueKeysWithValues: peaks)
        self.connectionPeak = SourcePeaks("connections_per_source", factory)
    }

    /// Counts a rate-limited call.
    func note(_ limit: SourceLimit, of source: PeerSource, log: @autoclosure () -> Logger) {
        self.limited[limit]?.increment()
        guard let suppressed = self.lines.allow() else { return }
        log().warning(
            "calls are rate-limited",
            metadata: ["limit": "\(limit.rawValue)", "source": "\(source)", "refused": "\(suppressed + 1)"]
        )
    }

    /// Records the number of known sources.
    func note(sources count: Int) { self.sources.record(count) }

    /// Counts an event on the listening socket.
    func note(_ event: ListenerEvent) {
        switch event {
        case .refused(let reason): self.refused[reason]?.increment()
        case .failed(let failure): self.failed[failure.metricName]?.increment()
        case .handshakes(let count): self.handshakes.record(count)
        }
    }
}

extension RefusedConnections.Reason {
    /// The label value in metrics.
    fileprivate var metricName: String {
        switch self {
        case .connections: "connections"
        case .withoutSession: "without_session"
        case .connectionsPerSource: "connections_per_source"
        case .longFrames: "long_frames"
        }
    }
}

extension ConnectionFailure {
    /// All label values.
    static let metricNames = [
        "untrusted", "wrong_name", "no_common_protocol", "refused_by_peer", "ended_early", "timed_out", "broken",
        "proxy_header",
        "displaced",
    ]

    /// The label value in metrics.
    var metricName: String {
        switch self {
        case .tls(.untrusted): "untrusted"
        case .tls(.wrongName): "wrong_name"
        case .tls(.noCommonProtocol): "no_common_protocol"
        case .tls(.refusedByPeer): "refused_by_peer"
        case .tls(.endedEarly): "ended_early"
        case .tls(.timedOut): "timed_out"
        case .tls(.broken): "broken"
        case .proxyHeader: "proxy_header"
        case .displaced: "displaced"
        }
    }
}

extension RemotePINServer {
    /// Counts the events of this server's listeners.
    ///
    /// For use as ``ListenerObserver/event``.
    package var listenerEvents: @Sendable (ListenerEvent) -> Void {
        let metrics = self.state.limits.metrics
        return { metrics.note($0) }
    }
}

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
