/// An event on a listening socket, for metrics; observers run on event loops, so they must not block.
package enum ListenerEvent: Sendable {
    /// A connection was closed by a limit.
    case refused(RefusedConnections.Reason)
    /// A connection did not open, or TLS failed later.
    case failed(ConnectionFailure)
    /// The number of handshakes in progress changed.
    case handshakes(inProgress: Int)
}

/// The callbacks of a listening socket, for metrics and logs.
package struct ListenerObserver: Sendable {
    /// Called for each event.
    package var event: @Sendable (ListenerEvent) -> Void = { _ in }
    /// Called for every failed connection, with the client's address, for the log.
    package var failure: @Sendable (_ peer: String, _ failure: ConnectionFailure) -> Void = { _, _ in }
    /// Called for connections closed by a limit, at most once in
    /// ``TransportLimits/refusalReportInterval``, for the log.
    package var refusal: @Sendable (RefusedConnections) -> Void = { _ in }
    /// Called when accept(2) fails, mostly for lack of file descriptors; at most once a second, for the log.
    package var acceptFailure: @Sendable (_ reason: String) -> Void = { _ in }

    /// An observer that ignores everything.
    package init() {}
}
