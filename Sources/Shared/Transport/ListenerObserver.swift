/// What happens on a listening socket, for who counts it; called on event loops, so it must not wait.
package enum ListenerEvent: Sendable {
    /// A connection was closed for want of room.
    case refused(RefusedConnections.Reason)
    /// A connection did not open, or broke the rules of TLS later.
    case failed(ConnectionFailure)
    /// So many handshakes are in progress now.
    case handshakes(inProgress: Int)
}

/// Who is told what happens on a listening socket.
package struct ListenerObserver: Sendable {
    /// Each event.
    package var event: @Sendable (ListenerEvent) -> Void = { _ in }
    /// Every connection that failed, with the client's address, for the log.
    package var failure: @Sendable (_ peer: String, _ failure: ConnectionFailure) -> Void = { _, _ in }
    /// Connections that were closed for want of room, at most once in ``TransportLimits/refusalReportInterval``, for the log.
    package var refusal: @Sendable (RefusedConnections) -> Void = { _ in }
    /// No connection can be accepted, most often for want of files, for the log; at most once a second.
    package var acceptFailure: @Sendable (_ reason: String) -> Void = { _ in }

    /// Nobody.
    package init() {}
}
