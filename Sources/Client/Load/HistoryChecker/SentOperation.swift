internal import Vocabulary

/// An operation that was sent, with its response once it has arrived.
struct SentOperation: Sendable {
    let id: Int
    /// The attempt that it belongs to, identified by the id of the first operation with the same attempt id.
    let attempt: Int
    let operation: WalletOperation
    /// The earliest time that the server's clock may have shown, in milliseconds since 1970.
    let sent: Int64
    /// The earliest such time among this operation and those pending when it was sent.
    ///
    /// If an operation has been waiting in the server since then, it carries an older time and shortens a new block
    /// accordingly.
    let oldest: Int64
    /// Its position in the order of events.
    let began: Int
    /// The event before which the operation took effect, if it did.
    ///
    /// This is its response, or its expiry if the response was lost.
    var ended = Int.max
    /// The latest time of that event.
    var until = Int64.max
    /// Whether no other operation of the wallet was pending between ``began`` and ``ended``.
    var isAlone = true
    /// Whether its attempt was sent more than once, in which case it cannot be exchanged for any other operation.
    var isRepeated = false
    /// Whether it was pending when the state became unknown, in which case its response proves nothing.
    var predatesReset = false
    /// The response, or nil for a lost operation.
    var response: WalletResponse?

    /// The verdict's place in the server's order, or nil for other responses.
    var place: VerdictPlace? {
        if case .verdict(_, let place)? = self.response { place } else { nil }
    }

    /// Whether the response claims that the attempt was counted and judged.
    var isJudged: Bool { self.place?.isJudged ?? false }

    /// Returns the interval during which the server read its clock for this operation.
    func window(until: Int64 = .max) -> Window {
        Window(from: self.sent, until: min(self.until, until), oldest: self.oldest)
    }

    /// Returns whether the response is possible, regardless of the history.
    func allows(_ response: WalletResponse) -> Bool {
        switch response {
        case .verdict(.valid, let place): self.operation.isRight && place?.isJudged == true
        case .verdict(.wrong, let place):
            self.operation != .opening
                && (place?.isJudged == true ? !self.operation.isRight : self.isRepeated && place != nil)
        case .verdict(.blocked, let place), .verdict(.blockedPermanently, let place):
            self.operation != .opening && place?.isJudged == false
        case .pinKeyChanged(let current): self.operation != .opening && current != nil
        case .opened: self.operation == .opening
        case .refused, .revoked: true
        case .validWithForeignShare: false
        }
    }
}
