internal import Vocabulary

extension Crowd {
    /// An answer will not come: until then the message may still be judged.
    mutating func lose(_ id: Int, until: Int64) {
        guard var sent = self.sent[id] else { return }
        self.remove(sent)
        sent.lostUntil = until
        sent.isAlone = false
        self.add(sent)
    }

    /// Lets go of lost messages that can have no effect any more: each was judged, somewhere, or it was not.
    mutating func expire(at now: Int64) {
        let over = self.sent.values.filter { $0.lostUntil.map { $0 < now } ?? false }.sorted { $0.order < $1.order }
        self.expire(over) { $0.lostUntil ?? now }
    }

    /// The process that had everything ended: what it was sent before has had its effect or has none.
    mutating func serverEnded(by death: Int64) {
        let over = self.sent.values.filter { $0.lostUntil != nil && $0.sent <= death }.sorted { $0.order < $1.order }
        self.expire(over) { min(death, $0.lostUntil ?? death) }
    }

    private mutating func expire(_ over: [SentMessage], until: (SentMessage) -> Int64) {
        guard !over.isEmpty else { return }
        for sent in over {
            let window = self.window(of: sent, until: max(sent.sent, until(sent)))
            self.remove(sent)
            self.order += 1
            self.possibilities = self.outcomes(of: sent, in: window)
            self.tidy()
        }
    }

    /// The message had no effect, or one that it is owed, or one after any others.
    private mutating func outcomes(of sent: SentMessage, in window: Window) -> Set<Possibility> {
        var next: Set<Possibility> = []
        let kind = self.number(of: MessageKind(sent))
        for possibility in self.possibilities {
            self.keep(possibility, in: &next)
            for (index, owed) in possibility.owed.enumerated()
            where owed.kind == kind && owed.judgedBefore > sent.order {
                self.keep(possibility.giving(index, to: sent), in: &next)
            }
            if sent.message != .opening { self.explore(possibility, sent, in: window, answer: nil, into: &next) }
        }
        return next
    }

    /// Forgets what cannot matter any more; where too many orders are left, everything is possible.
    mutating func tidy() {
        if self.isOverwhelmed || self.possibilities.count > Self.most {
            self.timesForgotten += 1
            self.isOverwhelmed = false
            self.forget()
            return
        }
        let live = self.kinds.flatMap(\.live).sorted()
        let awaited = Awaited(self.kinds)
        var next: Set<Possibility> = []
        for var possibility in self.possibilities {
            possibility.forget(live: live, kinds: self.kinds, awaited: awaited)
            next.insert(possibility)
        }
        if next.count > 1 {
            var fewest: [Possibility: [[Possibility.Owed]]] = [:]
            next = Set(
                next.sorted { $0.owed.count < $1.owed.count }.filter { Self.isNew($0, among: &fewest) }
            )
            if self.sent.isEmpty { next = Self.merged(next) }
        }
        self.possibilities = next
    }

    /// States that differ in nothing but a block's end become one with the wider of the two.
    private static func merged(_ possibilities: Set<Possibility>) -> Set<Possibility> {
        var blocks: [PossibleState: BlockSpan] = [:]
        var merged: Set<Possibility> = []
        for possibility in possibilities {
            guard let block = possibility.state.block else {
                merged.insert(possibility)
                continue
            }
            var state = possibility.state
            state.block = nil
            blocks[state] = blocks[state]?.hull(with: block) ?? block
        }
        for (state, block) in blocks {
            var state = state
            state.block = block
            merged.insert(Possibility(state))
        }
        return merged
    }

    /// From here on everything is possible; what is on its way may be answered in any way and may yet be judged.
    mutating func forget(generation: Int? = nil) {
        for id in self.sent.keys {
            self.sent[id]?.isForgotten = true
            self.sent[id]?.isAlone = false
        }
        self.possibilities = Set(PossibleState.all(self.rules, generation: generation).map { Possibility($0) })
    }

    /// Goes on from what the server claims, after an answer that nothing explains: one fault is told once.
    mutating func adopt(_ answer: Answer, of sent: SentMessage, in window: Window) {
        self.forget()
        let everything = self.possibilities
        var next: Set<Possibility> = []
        // A right PIN that was called wrong was counted like a wrong one, and the other way round.
        for message in [sent.message, sent.message.reversed] {
            var told = sent
            told = SentMessage(id: sent.id, entry: sent.entry, message: message, sent: sent.sent, order: sent.order)
            told.isAlone = false
            for possibility in everything { self.explore(possibility, told, in: window, answer: answer, into: &next) }
            guard next.isEmpty else { break }
        }
        self.possibilities = next.isEmpty ? everything : next
    }
}

extension Message {
    /// The same, had the PIN been of the other kind.
    fileprivate var reversed: Message {
        switch self {
        case .check(let isRight, let generation): .check(isRight: !isRight, generation: generation)
        case .change(let isRight, let generation, let next):
            .change(isRight: !isRight, generation: generation, to: next)
        case .opening: .opening
        }
    }
}
