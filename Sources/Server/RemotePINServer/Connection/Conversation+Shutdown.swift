internal import Logging
internal import Transport
internal import Vocabulary
internal import Wire

extension Conversation {
    /// The time after which a client of a stopping server may reconnect; another server may accept
    /// it at once.
    private static let reconnectDelay: Duration = .seconds(2)

    /// Notifies the client that the server stops: `unavailable` with id 0 and a delay, the last frame
    /// on the connection.
    ///
    /// Every answered call is done and any other call was not begun: nothing is judged after this
    /// frame.
    mutating func announceShutdown() async {
        self.log.begin(call: 0)
        self.log.debug("shutdown announced")
        let reason = Refusal.Reason.unavailable(retryAfter: Self.reconnectDelay)
        let refusal = Refusal(reason, correlationID: "\(self.log.correlationID)")
        await self.connection.send(Response(id: 0, result: .refused(refusal)))
    }
}
