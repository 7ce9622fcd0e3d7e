/// An event on a listening socket, for metrics; observers run on event loops, so they must not block.
package enum ListenerEvent: Sendable {
    /// A connection was closed because of a limit.
    case refused(RefusedConnections.Reason)
    /// A connection failed to open, or TLS failed later on.
    case failed(ConnectionFailure)
    /// The number of handshakes in progress changed.
    case handshakes(inProgress: Int)
}

/// The callbacks of a listening socket, for metrics and logs.
package struct ListenerObserver: Sendable {
    /// Called for each event.
    package var event: @Sendable (ListenerEvent) -> Void = { _ in }
    /// Called with the client's address for every failed connection, for logging.
    package var failure: @Sendable (_ peer: String, _ failure: ConnectionFailure) -> Void = { _, _ in }
    /// Called when connections have been closed because of a limit, at most once per
    /// ``TransportLimits/refusalReportInterval``, for logging.
    package var refusal: @Sendable (RefusedConnections) -> Void = { _ in }
    /// Called when accept(2) fails, usually because there are no file descriptors left.
    ///
    /// At most once a second, for logging.
    package var acceptFailure: @Sendable (_ reason: String) -> Void = { _ in }

    /// An observer that ignores everything.
    package init() {}
}
