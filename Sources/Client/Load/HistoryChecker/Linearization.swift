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
    /// The ids of lost operations that were judged.
    var used: Set<Int> = []
    /// The ids of placed responses that are not placed in every linearization.
    var placed: Set<Int> = []

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
    func taking(_ lost: SentOperation, _ state: ModelState) -> Linearization {
        var next = self
        next.state = state
        next.latest = max(self.latest, lost.began)
        next.number = self.number.map { $0 + 1 }
        next.used.insert(lost.id)
        return next
    }

    func hasPlaced(_ operation: SentOperation) -> Bool {
        guard operation.isJudged, let place = operation.place else { return self.placed.contains(operation.id) }
        return self.number.map { place.number <= $0 } ?? false
    }

    /// Returns whether the operation may be the next one in the order.
    func mayTake(_ lost: SentOperation, before bound: Int) -> Bool {
        lost.began < bound && lost.ended > self.latest && !self.used.contains(lost.id)
    }
}
