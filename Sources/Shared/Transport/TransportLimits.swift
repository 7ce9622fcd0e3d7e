/// The limits of a connection in time and memory; times are real, independent of a lab clock.
package struct TransportLimits: Hashable, Sendable {
    /// From the acceptance of a connection to the end of the TLS handshake, a load balancer's
    /// header included.
    package var handshake: Duration = .seconds(10)
    /// From the first byte of a frame or TLS record to its last; also for a peer that does not take
    /// its answers.
    package var frame: Duration = .seconds(10)
    /// Between two useful answers on a connection without a session.
    ///
    /// A wallet sends Hello and OpenSession at once, so it needs only the time of its round trips.
    package var idleWithoutSession: Duration = .seconds(15)
    /// The same once an enrollment has begun: a phone takes some seconds to make its evidence.
    package var idleInEnrollment: Duration = .seconds(60)
    /// Between two useful answers on a connection with a session.
    package var idleWithSession: Duration = .seconds(30 * 60)
    /// From the local close of a connection to the peer's; then the connection is aborted.
    package var close: Duration = .seconds(2)
    /// Calls that are queued on one connection; at this number the server stops reading.
    package var maxInFlight = 16
    /// Concurrent connections; a further one displaces one without a session.
    ///
    /// It is closed on acceptance only if all others have a session. The last quarter is for
    /// connections that have a session or are fresh (``freshness``).
    package var connections = 10_000
    /// The time during which a new connection may occupy a place in the last quarter without a session.
    package var freshness: Duration = .seconds(10)
    /// Concurrent connections from one ``PeerSource``; 0 for no limit except the total.
    package var connectionsPerSource = 2_500
    /// Concurrent connections in the handshake; a further one displaces one of the oldest.
    package var handshakes = 1_000
    /// Concurrent connections that hold a frame longer than 4 096 bytes, or its beginning, which no
    /// task has taken yet.
    ///
    /// Each holds at most some 130 KiB. A further one displaces one of the oldest.
    package var longFrames = 500
    /// The minimum time between two reports of connections closed by a limit.
    package var refusalReportInterval: Duration = .seconds(10)
    /// The back-off before the next read from a connection of the deletion portal whose last request failed.
    package var rest: Duration = .seconds(1)

    /// The limits of protocol.md.
    package init() {}

    /// The limits for a socket of this machine: its peers are one program or a few operators, all
    /// of one source.
    static func local(connections: Int) -> TransportLimits {
        var limits = TransportLimits()
        limits.connections = connections
        limits.connectionsPerSource = 0
        return limits
    }
}
