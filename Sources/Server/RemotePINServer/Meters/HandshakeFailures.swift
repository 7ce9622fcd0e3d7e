public import Metrics
public import Transport

/// Counts the connections that TLS ended, by reason.
public struct HandshakeFailures: Sendable {
    private let untrusted: Counter
    private let wrongName: Counter
    private let noCommonProtocol: Counter
    private let refusedByPeer: Counter
    private let endedEarly: Counter
    private let timedOut: Counter
    private let broken: Counter

    public init(_ factory: any MetricsFactory) {
        func counter(_ reason: String) -> Counter {
            Counter(
                label: "remote_pin_handshake_failures_total",
                dimensions: [("reason", reason)],
                factory: factory
            )
        }
        self.untrusted = counter("untrusted")
        self.wrongName = counter("wrong_name")
        self.noCommonProtocol = counter("no_common_protocol")
        self.refusedByPeer = counter("refused_by_peer")
        self.endedEarly = counter("ended_early")
        self.timedOut = counter("timed_out")
        self.broken = counter("broken")
    }

    /// A connection ended so.
    public func note(_ failure: TLSFailure) {
        switch failure {
        case .untrusted: self.untrusted.increment()
        case .wrongName: self.wrongName.increment()
        case .noCommonProtocol: self.noCommonProtocol.increment()
        case .refusedByPeer: self.refusedByPeer.increment()
        case .endedEarly: self.endedEarly.increment()
        case .timedOut: self.timedOut.increment()
        case .broken: self.broken.increment()
        }
    }
}
