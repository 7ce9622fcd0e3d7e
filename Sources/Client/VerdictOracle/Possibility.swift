internal import Vocabulary

/// One order in which what was sent may have been judged, as far as it still matters.
///
/// Only what changes the state is put in order. Messages that can stand for each other are not told apart until they
/// are answered: a judged one is *owed* its answer, and whichever of its kind gets that answer was it.
struct Possibility: Hashable, Sendable {
    /// Where the wallet stands in the end.
    var state: PossibleState
    /// Where it stood before, for answers that were given then and are still on their way.
    var past: [Past] = []
    /// Verdicts that were reached and not answered yet, in their order.
    var owed: [Owed] = []

    struct Past: Hashable, Sendable {
        let state: PossibleState
        /// What was sent from here on met a later state.
        let endedBefore: Int
    }

    struct Owed: Hashable, Sendable {
        let kind: MessageKind
        let verdict: PINVerdict
        /// What was sent from here on cannot have been judged then.
        let judgedBefore: Int
        let event: Int
    }

    init(_ state: PossibleState) {
        self.state = state
    }

    /// The same order, with one more message judged.
    func moved(to state: PossibleState, order: Int, remembering: Bool) -> Possibility {
        var next = self
        if remembering { next.past.append(Past(state: self.state, endedBefore: order)) }
        next.state = state
        return next
    }

    /// The same, with the owed verdict given to a message.
    func giving(_ index: Int, to sent: SentMessage) -> Possibility {
        var next = self
        let event = next.owed.remove(at: index).event
        if next.state.lastWrong == .event(event) { next.state.lastWrong = .entry(sent.entry) }
        next.past = next.past.map { past in
            guard past.state.lastWrong == .event(event) else { return past }
            var state = past.state
            state.lastWrong = .entry(sent.entry)
            return Past(state: state, endedBefore: past.endedBefore)
        }
        return next
    }

    /// Forgets what nothing on its way can have met.
    mutating func forget(before oldest: Int) {
        self.past.removeAll { $0.endedBefore <= oldest }
    }
}

extension PossibleState {
    /// Every state that a wallet can be in, where nothing is known.
    static func all(_ rules: OracleRules, failures: ClosedRange<Int>? = nil, generation: Int? = nil) -> [PossibleState]
    {
        let range = failures ?? 0...rules.policy.allowance
        var states = [PossibleState(failures: rules.policy.allowance, isPermanent: true, generation: generation)]
        for count in range {
            states.append(PossibleState(failures: count, generation: generation))
            if count > 0 { states.append(PossibleState(failures: count, block: .unknown, generation: generation)) }
        }
        return states
    }
}
