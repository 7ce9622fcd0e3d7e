internal import Logging
internal import Transport
internal import Vocabulary
internal import Wire

extension Conversation {
    /// After which time a client of a server that stops may come back: another server may take it at once.
    private static let comeBack: Duration = .seconds(2)

    /// Tells the client that the server stops, not that anything went wrong: `unavailable` with id 0 and a time, the last
    /// frame on the connection.
    ///
    /// Every call that has had an answer is done, and any other was not begun: nothing is judged after this.
    mutating func sayGoodbye() async {
        self.log.begin(call: 0)
        self.log.debug("told to come back")
        let refusal = Refusal(.unavailable(retryAfter: Self.comeBack), correlationID: "\(self.log.correlationID)")
        await self.connection.send(Response(id: 0, result: .refused(refusal)))
    }
}
