/// A connection's time and memory limits.
///
/// All times are real time, even if a lab's clock is used.
package struct TransportLimits: Hashable, Sendable {
    /// The time from accepting a connection to the end of the TLS handshake, including a load balancer's header.
    package var handshake: Duration = .seconds(10)
    /// The time from the first to the last byte of a frame or TLS record.
    ///
    /// This also limits how long a peer may go without reading its answers.
    package var frame: Duration = .seconds(10)
    /// The time between two useful answers on a connection without a session.
    ///
    /// A wallet sends Hello and OpenSession right away, so it only needs enough time for its round trips.
    package var idleWithoutSession: Duration = .seconds(15)
    /// Like ``idleWithoutSession``, but once an enrollment has started, since a phone takes a few seconds to create its
    /// evidence.
    package var idleInEnrollment: Duration = .seconds(60)
    /// The time between two useful answers on a connection with a session.
    package var idleWithSession: Duration = .seconds(30 * 60)
    /// The time that the peer has to close a connection after this end has closed it.
    ///
    /// After that, the connection is aborted.
    package var close: Duration = .seconds(2)
    /// The maximum number of calls queued on a connection.
    ///
    /// When it is reached, the server stops reading.
    package var maxInFlight = 16
    /// The maximum number of concurrent connections.
    ///
    /// Beyond that, a new connection displaces an unprotected one, and is refused only if there is none.
    package var connections = 10_000
    /// The maximum number of concurrent connections from a single ``PeerSource``, or 0 if only the total is limited, as
    /// it always is for root and the server's user.
    package var connectionsPerSource = 2_500
    /// The number of local connections that only root and the server's user may open, among ``connections``.
    package var keptForPrivileged = 0
    /// The maximum number of concurrent handshakes.
    ///
    /// Beyond that, a new one displaces another one.
    package var handshakes = 1_000
    /// The maximum number of concurrent connections that hold all or part of a frame longer than 4 096 bytes that no
    /// task has taken yet.
    ///
    /// Each of them holds at most about 130 KiB. Beyond that, a new one displaces another one.
    package var longFrames = 500
    /// The minimum time between two reports about connections closed because of a limit.
    package var refusalReportInterval: Duration = .seconds(10)
    /// The pause before reading again from a deletion portal's connection after one of its requests has failed.
    package var portalBackoff: Duration = .seconds(1)

    /// The limits given in protocol.md.
    package init() {}

    /// Returns the limits for a local socket.
    ///
    /// Its peers are a program or a few operators. Each user is a source.
    static func local(connections: Int) -> TransportLimits {
        var limits = TransportLimits()
        limits.connections = connections
        limits.connectionsPerSource = 0
        return limits
    }
}
