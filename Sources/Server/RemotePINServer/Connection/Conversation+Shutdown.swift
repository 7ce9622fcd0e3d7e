internal import Logging
internal import Transport
internal import Wire

extension Conversation {
    /// The time that clients should wait before reconnecting when a server shuts down.
    ///
    /// Another server may accept them right away.
    private static let reconnectDelay: Duration = .seconds(2)

    /// Notifies the client that the server is shutting down.
    ///
    /// This is the last frame on the connection: `unavailable` with id 0 and a delay. Every call that was answered is
    /// complete, and no other call has been started, so nothing is judged after this frame.
    mutating func announceShutdown() async {
        self.log.begin(call: 0)
        self.log.debug("shutdown announced")
        let reason = Refusal.Reason.unavailable(retryAfter: Self.reconnectDelay)
        let refusal = Refusal(reason, correlationID: "\(self.log.correlationID)")
        await self.connection.send(Response(id: 0, result: .refused(refusal)))
    }
}
