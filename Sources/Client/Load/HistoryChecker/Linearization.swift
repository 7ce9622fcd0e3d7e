internal import Vocabulary

/// A linearization: an order in which the server may have judged a wallet's operations so far.
///
/// An operation is *placed* if its position in the order has been determined.
struct Linearization: Hashable, Sendable {
    /// The wallet's state after the placed operations.
    var state: ModelState
    /// The number of judged attempts, or nil before the first receipt.
    var number: UInt64?
    /// The latest event at which any placed operation was sent.
    ///
    /// A lost operation that expired before this event cannot come next.
    var latest = 0
    /// The lost operations that were judged, by id.
    var used: [Int: Slot] = [:]
    /// The ids of placed responses that are not placed in every linearization.
    var placed: Set<Int> = []

    /// A position in the order that a lost operation takes.
    struct Slot: Hashable, Sendable {
        /// The latest event at which any operation before this position was sent.
        let after: Int
        /// The end of the operation that follows, before which this one was sent.
        let before: Int

        /// Returns whether this operation may take the position.
        func mayHold(_ lost: SentOperation) -> Bool { lost.began < self.before && lost.ended > self.after }
    }

    init(_ state: ModelState, number: UInt64? = nil) {
        self.state = state
        self.number = number
    }

    /// Returns the same order followed by a response that leaves the wallet in this state.
    func placing(_ operation: SentOperation, _ state: ModelState) -> Linearization {
        var next = self
        next.state = state
        next.latest = max(self.latest, operation.began)
        if operation.isJudged { next.number = operation.place?.number } else { next.placed.insert(operation.id) }
        return next
    }

    /// Returns the same order followed by a lost operation that leaves the wallet in this state.
    func taking(_ lost: SentOperation, before bound: Int, _ state: ModelState) -> Linearization {
        var next = self
        next.state = state
        next.latest = max(self.latest, lost.began)
        next.number = self.number.map { $0 + 1 }
        next.used[lost.id] = Slot(after: self.latest, before: bound)
        return next
    }

    /// Returns the same order with two interchangeable lost operations in each other's positions.
    ///
    /// Returns nil if neither has a position, or if one of them cannot have the other's.
    func exchanging(_ one: SentOperation, _ other: SentOperation) -> Linearization? {
        let (slot, otherSlot) = (self.used[one.id], self.used[other.id])
        guard slot != nil || otherSlot != nil, slot?.mayHold(other) ?? true, otherSlot?.mayHold(one) ?? true else {
            return nil
        }
        var next = self
        (next.used[one.id], next.used[other.id]) = (otherSlot, slot)
        switch self.state.lastWrong {
        case .attempt(one.attempt): next.state.lastWrong = .attempt(other.attempt)
        case .attempt(other.attempt): next.state.lastWrong = .attempt(one.attempt)
        default: break
        }
        return next
    }

    func hasPlaced(_ operation: SentOperation) -> Bool {
        guard operation.isJudged, let place = operation.place else { return self.placed.contains(operation.id) }
        return self.number.map { place.number <= $0 } ?? false
    }

    /// Returns whether the operation may be the next one in the order.
    func mayTake(_ lost: SentOperation, before bound: Int) -> Bool {
        lost.began < bound && lost.ended > self.latest && self.used[lost.id] == nil
    }
}

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

/// The responses that are not yet placed in every possible order, sorted by the time at which their operations were
/// sent.
struct Backlog: Sendable {
    private var all: [SentOperation] = []
    /// The index of the first such response.
    ///
    /// All responses before it have been placed.
    private var start = 0
    /// The responses to judged attempts, by number.
    private var byNumber: [UInt64: SentOperation] = [:]

    var operations: ArraySlice<SentOperation> { self.all[self.start...] }

    func judged(_ number: UInt64) -> SentOperation? { self.byNumber[number] }

    mutating func insert(_ operation: SentOperation) {
        let index = self.operations.lastIndex { $0.began < operation.began }.map { $0 + 1 } ?? self.start
        self.all.insert(operation, at: index)
        if operation.isJudged, let number = operation.place?.number { self.byNumber[number] = operation }
    }

    /// Removes responses from the front while they are placed in all of these orders.
    mutating func removePlaced(in linearizations: inout [Linearization]) {
        // rule: load-history-keeps-placed-answers
        while self.start < self.all.count, linearizations.allSatisfy({ $0.hasPlaced(self.all[self.start]) }) {
            let operation = self.all[self.start]
            self.start += 1
            if operation.isJudged, let number = operation.place?.number {
                self.byNumber[number] = nil
            } else {
                for index in linearizations.indices { linearizations[index].placed.remove(operation.id) }
            }
        }
        if self.start > 64, self.start * 2 > self.all.count {
            self.all.removeFirst(self.start)
            self.start = 0
        }
    }
}
