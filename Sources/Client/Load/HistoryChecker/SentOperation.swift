internal import Vocabulary

/// An operation that was sent, and its response once it has arrived.
struct SentOperation: Sendable {
    let id: Int
    /// The attempt that it belongs to: the id of the first operation with its attempt id.
    let attempt: Int
    let operation: WalletOperation
    /// The earliest time that the server's clock may have shown, in milliseconds since 1970.
    let sent: Int64
    /// The earliest such time among this operation and those that were pending when it was sent.
    ///
    /// If an operation has been waiting in the server since then, it has an older time and shortens a new block
    /// accordingly.
    let oldest: Int64
    /// Its position in the order of events.
    let began: Int
    /// The event before which the operation took effect, if at all: its response, or its expiry if the response was
    /// lost.
    var ended = Int.max
    /// The latest time of that event.
    var until = Int64.max
    /// True if no other operation of its wallet was pending between ``began`` and ``ended``.
    var isAlone = true
    /// True if its attempt was sent more than once, so that it cannot be exchanged for any other operation.
    var isRepeated = false
    /// True if it was pending when the state became unknown, so that its response does not prove anything.
    var predatesReset = false
    /// Nil for a lost operation.
    var response: WalletResponse?

    /// The verdict's place in the server's order; nil for other responses.
    var place: VerdictPlace? {
        if case .verdict(_, let place)? = self.response { place } else { nil }
    }

    /// True if the response claims that the attempt was counted and judged.
    var isJudged: Bool { self.place?.isJudged ?? false }

    /// Returns the interval in which the server read its clock for this operation.
    func window(until: Int64 = .max) -> Window {
        Window(from: self.sent, until: min(self.until, until), oldest: self.oldest)
    }

    /// Returns true if the response is possible, regardless of the history.
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
