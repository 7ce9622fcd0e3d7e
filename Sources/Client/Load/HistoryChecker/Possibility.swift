internal import Vocabulary

/// One order in which what was sent may have been judged, as far as it still matters.
///
/// Only what changes the state is put in order. Messages that can stand for each other are not told apart until they
/// are answered: a judged one is *owed* its answer, and whichever of its kind gets that answer was it.
struct Possibility: Hashable, Sendable {
    /// Where the wallet stands in the end.
    var state: PossibleState
    /// Where it stood before, for answers that were given then and are still on their way: what was sent from the
    /// number on met a later state.
    var past: [PossibleState: Int] = [:]
    /// Verdicts that were reached and not answered yet, in their order.
    var owed: [Owed] = []

    struct Owed: Hashable, Sendable {
        /// The kind's number in the crowd.
        let kind: Int
        /// Nil where nobody will ever hear it.
        var verdict: JudgedVerdict?
        /// What was sent from here on cannot have been judged then.
        var judgedBefore: Int
        /// By which a state names it: 1 for the state in the end, 0 where none does.
        var event = 0
    }

    init(_ state: PossibleState) {
        self.state = state
    }

    /// The same order, with one more message judged.
    ///
    /// - Parameter awaited: What is on its way whose answer may have been given before.
    func moved(to state: PossibleState, order: Int, awaited: Awaited) -> Possibility {
        var next = self
        let named = next.owed.firstIndex { $0.event == 1 }
        if awaited.mayMeet(self.state) {
            var old = self.state
            if let named {
                let event = order << 12 | self.owed.count { $0.event >> 12 == order }
                next.owed[named].event = event
                old.lastWrong = .event(event)
            }
            next.past[old] = order
        } else if let named {
            next.owed[named].event = 0
        }
        next.state = state
        return next
    }

    /// The same, with the owed verdict given to a message.
    func giving(_ index: Int, to sent: SentMessage) -> Possibility {
        var next = self
        let event = next.owed.remove(at: index).event
        if event != 0 { next.name(event, as: sent.entry) }
        return next
    }

    /// Says whose wrong PIN an event was.
    private mutating func name(_ event: Int, as entry: Int) {
        if self.state.lastWrong == .event(event) { self.state.lastWrong = .entry(entry) }
        for (state, endedBefore) in self.past where state.lastWrong == .event(event) {
            var named = state
            named.lastWrong = .entry(entry)
            self.past[state] = nil
            self.past[named] = max(endedBefore, self.past[named] ?? 0)
        }
    }

    /// Forgets what nothing on its way can have met or will hear, so that what differs in nothing else is the same.
    ///
    /// - Parameters:
    ///   - live: The places of all messages whose answers may come, ascending.
    ///   - kinds: The messages of each kind.
    mutating func forget(live: [Int], kinds: [KindOnItsWay], awaited: Awaited) {
        if !self.past.isEmpty {
            var past: [PossibleState: Int] = [:]
            for (state, endedBefore) in self.past where state != self.state && awaited.mayMeet(state) {
                if let last = live.last(where: { $0 < endedBefore }) { past[state] = last + 1 }
            }
            self.past = past
        }
        for index in self.owed.indices {
            let (owed, places) = (self.owed[index], kinds[self.owed[index].kind])
            if let last = places.all.last(where: { $0 < owed.judgedBefore }) {
                self.owed[index].judgedBefore = last + 1
            }
            if places.live.first.map({ $0 < owed.judgedBefore }) != true { self.owed[index].verdict = nil }
            if owed.event > 1, !self.past.keys.contains(where: { $0.lastWrong == .event(owed.event) }) {
                self.owed[index].event = 0
            }
        }
    }

    /// What must be the same in another possibility that explains no more than this one.
    var essence: Possibility {
        var essence = self
        essence.owed.removeAll { $0.verdict == nil && $0.event == 0 }
        return essence
    }

    /// Verdicts that nobody will hear: of the messages that they used up the wallet has the fewer, the better.
    var unheard: [Owed] { self.owed.filter { $0.verdict == nil && $0.event == 0 } }
}

/// A verdict that counted, small enough to be compared often.
struct JudgedVerdict: Hashable, Sendable {
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

/// Of the messages whose answers may come, what decides which earlier states they can still tell of.
struct Awaited {
    private var isAny = false
    private var isOpening = false
    private var isRepeated = false
    private var isRight = false
    private var generations: Set<Int> = []

    init(_ kinds: [KindOnItsWay]) {
        for kind in kinds where !kind.live.isEmpty {
            self.isAny = true
            if kind.kind.message == .opening { self.isOpening = true }
            if kind.kind.entry != nil { self.isRepeated = true }
            if kind.kind.message.isRight { self.isRight = true }
            if let generation = kind.kind.message.generation { self.generations.insert(generation) }
        }
    }

    /// Whether one of them may have been answered in a state without changing it.
    ///
    /// A PIN that finds a wallet open is counted, unless nothing is counted and it is right, or it was sent before.
    func mayMeet(_ state: PossibleState) -> Bool {
        guard self.isAny else { return false }
        if self.isOpening || self.isRepeated || state.isPermanent || state.block != nil { return true }
        if self.isRight, state.failures == 0 { return true }
        return self.generations.contains { $0 != state.generation }
    }
}

/// The messages of one kind that are on their way, by their places among all that was sent.
struct KindOnItsWay: Sendable {
    let kind: MessageKind
    /// Ascending.
    var all: [Int] = []
    /// Those whose answers may come; ascending.
    var live: [Int] = []

    mutating func insert(_ sent: SentMessage) {
        self.all.insert(sent.order, at: (self.all.lastIndex { $0 < sent.order } ?? -1) + 1)
        guard sent.lostUntil == nil else { return }
        self.live.insert(sent.order, at: (self.live.lastIndex { $0 < sent.order } ?? -1) + 1)
    }

    mutating func remove(_ sent: SentMessage) {
        self.all.removeAll { $0 == sent.order }
        self.live.removeAll { $0 == sent.order }
    }
}

extension PossibleState {
    /// Every state that a wallet can be in, where nothing is known.
    static func all(_ rules: OracleRules, failures: ClosedRange<Int>? = nil, generation: Int? = nil) -> [PossibleState]
    {
        let range = failures ?? 0...rules.policy.allowance
        var states = [PossibleState(failures: rules.policy.allowance, isPermanent: true, generation: generation)]
        for count in range {
            let last = count == 0 ? PossibleState.LastWrong.none : .unknown
            states.append(PossibleState(failures: count, generation: generation, lastWrong: last))
            guard count > 0 else { continue }
            states.append(PossibleState(failures: count, block: .unknown, generation: generation, lastWrong: last))
        }
        return states
    }
}
