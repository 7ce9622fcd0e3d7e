/// How long and how much a peer may take; real time, whatever a lab's clock says.
package struct TransportLimits: Hashable, Sendable {
    /// From the connection's acceptance to the end of the TLS handshake, a balancer's header included.
    package var handshake: Duration = .seconds(10)
    /// From a frame's or a TLS record's first byte to its last, and for a peer that does not read what it is sent.
    package var frame: Duration = .seconds(10)
    /// Between two useful answers on a connection without a session.
    package var idleWithoutSession: Duration = .seconds(60)
    /// Between two useful answers on a connection with one.
    package var idleWithSession: Duration = .seconds(30 * 60)
    /// From our end of a connection to the peer's; then it is cut.
    package var close: Duration = .seconds(2)
    /// Calls that wait on one connection; then nothing more is read from it.
    package var maxInFlight = 16
    /// Connections at a time; any further one is closed as soon as it is accepted.
    package var connections = 10_000
    /// Connections at a time from one ``PeerSource``; 0 for as many as there may be in all.
    package var connectionsPerSource = 2_500
    /// Connections at a time that are not open yet; when there are more, one of the oldest is closed.
    package var handshakes = 1_000
    /// Connections at a time of which a frame longer than 4 096 bytes, or the beginning of one, is held and nobody has
    /// taken it yet, some 130 KiB each at most; when there are more, one of the oldest is closed.
    package var longFrames = 500
    /// The least time between two reports of connections that were closed for want of room.
    package var refusalReportInterval: Duration = .seconds(10)
    /// How long nothing is read from the deletion portal's connection whose last request came to nothing.
    package var rest: Duration = .seconds(1)

    /// The limits of protocol.md.
    package init() {}

    /// For a socket of this machine: its peers are one program or a few people, all of one source.
    static func local(connections: Int) -> TransportLimits {
        var limits = TransportLimits()
        limits.connections = connections
        limits.connectionsPerSource = 0
        return limits
    }
}
