internal import Vocabulary

/// One order in which the server may have judged the pending operations, as far as it still matters.
///
/// Only state changes are ordered. Interchangeable operations are not distinguished until their responses
/// arrive: a judged operation leaves a *pending verdict* for its class, which any operation of that class may
/// then claim.
struct Linearization: Hashable, Sendable {
    /// The wallet's state after all judged operations.
    var state: ModelState
    /// Earlier states that outstanding responses may still report.
    ///
    /// Each value is a place in the order: an operation sent at or after it met a later state.
    var past: [ModelState: Int] = [:]
    /// Verdicts whose responses have not arrived, in the order in which they were reached.
    var pendingVerdicts: [PendingVerdict] = []

    struct PendingVerdict: Hashable, Sendable {
        /// The index of the operation's group in the history.
        let group: Int
        /// Nil if no response will report it.
        var verdict: VerdictCode?
        /// Operations sent at or after this place cannot have this verdict.
        var judgedBefore: Int
        /// The event number by which a state refers to this verdict: 1 for the final state, 0 if no state refers to it.
        var event = 0
    }

    init(_ state: ModelState) {
        self.state = state
    }

    /// The same order with one more operation judged.
    ///
    /// - Parameter observers: the operations that may have been answered before it.
    func advanced(to state: ModelState, order: Int, observers: PendingObservers) -> Linearization {
        var next = self
        let current = next.pendingVerdicts.firstIndex { $0.event == 1 }
        if observers.mayObserve(self.state) {
            var old = self.state
            if let current {
                let event = order << 12 | self.pendingVerdicts.count { $0.event >> 12 == order }
                next.pendingVerdicts[current].event = event
                old.lastWrong = .event(event)
            }
            next.past[old] = order
        } else if let current {
            next.pendingVerdicts[current].event = 0
        }
        next.state = state
        return next
    }

    /// The same order with a pending verdict assigned to an operation.
    func assigning(_ index: Int, to operation: PendingOperation) -> Linearization {
        var next = self
        let event = next.pendingVerdicts.remove(at: index).event
        if event != 0 { next.identify(event, as: operation.attempt) }
        return next
    }

    /// Records the attempt that caused an event, which was a wrong PIN.
    private mutating func identify(_ event: Int, as attempt: Int) {
        if self.state.lastWrong == .event(event) { self.state.lastWrong = .attempt(attempt) }
        for (state, endedBefore) in self.past where state.lastWrong == .event(event) {
            var identified = state
            identified.lastWrong = .attempt(attempt)
            self.past[state] = nil
            self.past[identified] = max(endedBefore, self.past[identified] ?? 0)
        }
    }

    /// Drops details that no pending operation can have met or will report, so that linearizations that
    /// differ only in them become equal.
    ///
    /// - Parameter live: the places of all operations whose responses may arrive, ascending.
    mutating func normalize(live: [Int], groups: [PendingGroup], observers: PendingObservers) {
        if !self.past.isEmpty {
            var past: [ModelState: Int] = [:]
            for (state, endedBefore) in self.past where state != self.state && observers.mayObserve(state) {
                if let last = live.last(where: { $0 < endedBefore }) { past[state] = last + 1 }
            }
            self.past = past
        }
        for index in self.pendingVerdicts.indices {
            let (pending, places) = (self.pendingVerdicts[index], groups[self.pendingVerdicts[index].group])
            if let last = places.all.last(where: { $0 < pending.judgedBefore }) {
                self.pendingVerdicts[index].judgedBefore = last + 1
            }
            if places.live.first.map({ $0 < pending.judgedBefore }) != true {
                self.pendingVerdicts[index].verdict = nil
            }
            if pending.event > 1, !self.past.keys.contains(where: { $0.lastWrong == .event(pending.event) }) {
                self.pendingVerdicts[index].event = 0
            }
        }
    }

    /// The part in which two linearizations must be equal so that one of them can explain at least as much as the
    /// other.
    var essence: Linearization {
        var essence = self
        essence.pendingVerdicts.removeAll { $0.verdict == nil && $0.event == 0 }
        return essence
    }

    /// Verdicts that no response will report.
    ///
    /// Of two linearizations with the same essence, the one with fewer of them has used up fewer lost
    /// operations and explains more.
    var unreported: [PendingVerdict] { self.pendingVerdicts.filter { $0.verdict == nil && $0.event == 0 } }
}

/// A counted verdict in a form that is cheap to compare.
struct VerdictCode: Hashable, Sendable {
    private let code: Int64

    init(_ verdict: PINVerdict) {
        switch verdict {
        case .valid: self.code = 0
        case .wrong(.blockedPermanently): self.code = 1
        case .wrong(.open(let left, let isFinal)): self.code = 2 + Int64(left) * 2 + (isFinal ? 1 : 0)
        case .wrong(.blocked(let remaining)): self.code = 1 << 40 + remaining.milliseconds
        case .blocked, .blockedPermanently: self.code = -1
        }
    }
}
