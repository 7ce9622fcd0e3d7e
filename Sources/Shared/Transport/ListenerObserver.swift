/// An event on a listening socket, for metrics.
///
/// Observers are called on event loops, so they must not block.
package enum ListenerEvent: Sendable {
    /// A connection was closed because of a limit.
    case refused(RefusedConnections.Reason)
    /// A connection failed to open, or TLS failed later on.
    case failed(ConnectionFailure)
    /// The number of handshakes in progress changed.
    case handshakes(inProgress: Int)
}

/// A listening socket's callbacks for metrics and logs.
package struct ListenerObserver: Sendable {
    /// Called for every event.
    package var event: @Sendable (ListenerEvent) -> Void = { _ in }
    /// Called with the client's address for every failed connection, for logging.
    package var failure: @Sendable (_ peer: String, _ failure: ConnectionFailure) -> Void = { _, _ in }
    /// Called when connections have been closed because of a limit, for logging.
    ///
    /// Called at most once per ``TransportLimits/refusalReportInterval``.
    package var refusal: @Sendable (RefusedConnections) -> Void = { _ in }
    /// Called when accept(2) fails, usually because there are no file descriptors left.
    ///
    /// This is for logging and happens at most once per second.
    package var acceptFailure: @Sendable (_ reason: String) -> Void = { _ in }

    /// An observer that ignores everything.
    package init() {}
}
