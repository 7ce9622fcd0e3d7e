internal import Vocabulary

/// A wallet of which several messages are on their way, or of which not everything is known.
///
/// Holds every order in which they may have been judged that explains all answers until now. An answer that none of
/// them can explain is a violation. Messages are put in order only when an answer needs it: what is not needed yet can
/// as well have come later.
struct Crowd: Sendable {
    let rules: OracleRules
    /// Unanswered messages by their ids, the lost ones included.
    var sent: [Int: SentMessage] = [:]
    /// Those of each kind, by the kind's number; a number is used again when nothing of its kind is left.
    private(set) var kinds: [KindOnItsWay] = []
    var possibilities: Set<Possibility>
    /// The place of what is sent next.
    var order = 1
    /// How often there were too many orders to follow, so that everything had to be taken for possible.
    var timesForgotten = 0
    /// True where there are more orders than can be followed, until everything is forgotten.
    var isOverwhelmed = false

    /// Beyond so many orders everything is taken for possible.
    static let most = 512

    init(_ states: [PossibleState], _ rules: OracleRules) {
        self.rules = rules
        self.possibilities = Set(states.map { Possibility($0) })
    }

    /// The only state that is left, once nothing is on its way.
    var settled: PossibleState? {
        guard self.sent.isEmpty, self.possibilities.count == 1 else { return nil }
        return self.possibilities.first?.state
    }

    mutating func send(_ id: Int, _ message: Message, entry: Int, at now: Int64) {
        let place = self.order
        self.order += 1
        let isFirst = self.sent.isEmpty
        for other in self.sent.values where other.isAlone { self.sent[other.id]?.isAlone = false }
        var sent = SentMessage(id: id, entry: entry, message: message, sent: now, order: place)
        sent.isAlone = isFirst
        if entry != id {
            for other in self.sent.values where other.entry == entry && !other.isNamed { self.name(other) }
            sent.isNamed = true
        }
        self.add(sent)
    }

    mutating func add(_ sent: SentMessage) {
        self.sent[sent.id] = sent
        self.order = max(self.order, sent.order + 1)
        let kind = MessageKind(sent)
        if let index = self.number(of: kind) {
            self.kinds[index].insert(sent)
            return
        }
        var new = KindOnItsWay(kind: kind)
        new.insert(sent)
        if let free = self.kinds.firstIndex(where: \.all.isEmpty) {
            self.kinds[free] = new
        } else {
            self.kinds.append(new)
        }
    }

    mutating func remove(_ sent: SentMessage) {
        self.sent[sent.id] = nil
        if let index = self.number(of: MessageKind(sent)) { self.kinds[index].remove(sent) }
    }

    /// The number of a kind of which something is or just was on its way.
    func number(of kind: MessageKind) -> Int? { self.kinds.firstIndex { $0.kind == kind } }

    /// Tells one message from all others, because its entry is sent once more.
    ///
    /// Each verdict that its kind is owed may have been its own.
    private mutating func name(_ sent: SentMessage) {
        let old = self.number(of: MessageKind(sent))
        var named = sent
        named.isNamed = true
        // Added before it is removed: an emptied kind's number must not be taken while verdicts may be its own.
        self.add(named)
        let new = self.number(of: MessageKind(named))
        if let old { self.kinds[old].remove(sent) }
        guard let old, let new else { return }
        var next: Set<Possibility> = []
        for possibility in self.possibilities {
            self.keep(possibility, in: &next)
            for (index, owed) in possibility.owed.enumerated() where owed.kind == old && owed.judgedBefore > sent.order
            {
                var own = possibility.giving(index, to: named)
                own.owed.append(
                    Possibility.Owed(kind: new, verdict: owed.verdict, judgedBefore: owed.judgedBefore)
                )
                self.keep(own, in: &next)
            }
        }
        self.possibilities = next
    }

    /// Whether each owed verdict has a message of its own that it can be the verdict of.
    ///
    /// Those sent before the one verdict were also sent before a later one, so counting is enough.
    func isFeasible(_ possibility: Possibility) -> Bool {
        guard !possibility.owed.isEmpty else { return true }
        var counts = [Int](repeating: 0, count: self.kinds.count)
        for owed in possibility.owed {
            let places = self.kinds[owed.kind].all
            let taken = counts[owed.kind]
            guard taken < places.count, places[taken] < owed.judgedBefore else { return false }
            counts[owed.kind] = taken + 1
        }
        return true
    }

    func window(of sent: SentMessage, until now: Int64) -> Window {
        Window(from: sent.sent, until: now, oldest: self.sent.values.reduce(sent.sent) { min($0, $1.sent) })
    }
}

extension Crowd {
    /// Takes an answer in; says what is wrong with it, if nothing that was sent explains it.
    mutating func answer(_ id: Int, _ answer: Answer, at now: Int64) -> Violation? {
        guard let sent = self.sent[id] else { return .answerToAnotherQuestion }
        let window = self.window(of: sent, until: now)
        let before = self.possibilities
        self.remove(sent)
        self.order += 1
        self.possibilities = self.explanations(of: answer, to: sent, in: window, among: before)
        var violation: Violation?
        if self.isOverwhelmed {
            self.tidy()
            return sent.explains(answer) ? nil : Violation(answer, to: sent, in: window, among: before, self.rules)
        }
        if self.possibilities.isEmpty {
            violation = Violation(answer, to: sent, in: window, among: before, self.rules)
            self.adopt(answer, of: sent, in: window)
        }
        self.tidy()
        return violation
    }

    /// All orders in which a message has this answer.
    private mutating func explanations(
        of answer: Answer,
        to sent: SentMessage,
        in window: Window,
        among possibilities: Set<Possibility>
    ) -> Set<Possibility> {
        var next: Set<Possibility> = []
        for possibility in possibilities {
            if sent.isForgotten, sent.explains(answer) { self.keep(possibility, in: &next) }
            if case .verdict(let verdict) = answer {
                let (kind, judged) = (self.number(of: MessageKind(sent)), JudgedVerdict(verdict))
                for (index, owed) in possibility.owed.enumerated()
                where owed.kind == kind && owed.verdict == judged && owed.judgedBefore > sent.order {
                    self.keep(possibility.giving(index, to: sent), in: &next)
                }
            }
            for (state, endedBefore) in possibility.past where endedBefore > sent.order {
                if state.admits(answer, to: sent, in: window, isExact: false, self.rules) != nil {
                    self.keep(possibility, in: &next)
                }
            }
            self.explore(possibility, sent, in: window, answer: answer, into: &next)
        }
        return next
    }

    /// Inserts what has a message for each verdict that it owes.
    func keep(_ possibility: Possibility, in next: inout Set<Possibility>) {
        if self.isFeasible(possibility) { next.insert(possibility) }
    }

    /// Has the messages that are on their way judged in every order that may matter, and this one after them.
    ///
    /// - Parameter answer: What came back; nil where the answer is lost, so that any verdict will do.
    mutating func explore(
        _ start: Possibility,
        _ sent: SentMessage,
        in window: Window,
        answer: Answer?,
        into next: inout Set<Possibility>
    ) {
        let awaited = Awaited(self.kinds)
        var (waiting, place, seen) = ([start], 0, Set<Possibility>())
        var fewest: [Possibility: [[Possibility.Owed]]] = [:]
        while place < waiting.count {
            let possibility = waiting[place]
            place += 1
            self.isOverwhelmed = self.isOverwhelmed || waiting.count > Self.most || next.count > Self.most
            guard !self.isOverwhelmed else { return }
            if let answer,
                let state = possibility.state.admits(answer, to: sent, in: window, isExact: sent.isAlone, self.rules)
            {
                var admitted = possibility
                admitted.state = state
                self.keep(admitted, in: &next)
            }
            let judged = possibility.state.judging(sent.message, by: .entry(sent.entry), in: window, self.rules)
            if let judged, answer == nil || answer == .verdict(judged.verdict) {
                self.keep(
                    possibility.moved(to: judged.state, order: self.order, awaited: awaited),
                    in: &next
                )
            }
            for kind in self.kinds.indices {
                guard let moved = self.judging(kind, in: possibility, window, awaited: awaited),
                    seen.insert(moved).inserted, Self.isNew(moved, among: &fewest)
                else { continue }
                waiting.append(moved)
            }
        }
    }

    /// One of a kind judged, whichever it is; nil where none is left, or it would change nothing.
    private func judging(
        _ kind: Int,
        in possibility: Possibility,
        _ window: Window,
        awaited: Awaited
    ) -> Possibility? {
        let (taken, of) = (possibility.owed.count { $0.kind == kind }, self.kinds[kind])
        guard taken < of.all.count else { return nil }
        let origin: PossibleState.LastWrong = of.kind.entry.map { .entry($0) } ?? .event(1)
        guard let (state, verdict) = possibility.state.judging(of.kind.message, by: origin, in: window, self.rules),
            state != possibility.state || state.lastWrong == .event(1)
        else { return nil }
        var moved = possibility.moved(to: state, order: self.order, awaited: awaited)
        moved.owed.append(
            Possibility.Owed(
                kind: kind,
                verdict: of.live.isEmpty ? nil : JudgedVerdict(verdict),
                judgedBefore: self.order,
                event: state.lastWrong == .event(1) ? 1 : 0
            )
        )
        return moved
    }

    /// False where another possibility explains as much and has used fewer of the messages that are lost.
    static func isNew(_ possibility: Possibility, among fewest: inout [Possibility: [[Possibility.Owed]]]) -> Bool {
        let (essence, unheard) = (possibility.essence, possibility.unheard)
        let known = fewest[essence, default: []]
        guard !known.contains(where: { $0.allSatisfy(unheard.contains) && $0.count <= unheard.count }) else {
            return false
        }
        fewest[essence, default: []].append(unheard)
        return true
    }
}

extension [Possibility.Owed] {
    /// Whether each of the others is among these, as often as it is there.
    fileprivate func holds(_ others: Self) -> Bool {
        var rest = self
        for other in others {
            guard let index = rest.firstIndex(of: other) else { return false }
            rest.remove(at: index)
        }
        return true
    }
}

extension SentMessage {
    /// What can be said of an answer without any history.
    fileprivate func explains(_ answer: Answer) -> Bool {
        switch answer {
        case .verdict(.valid): self.message.isRight
        case .verdict(.wrong): !self.message.isRight || self.isNamed
        case .verdict(.blocked), .verdict(.blockedPermanently), .pinKeyChanged: self.message != .opening
        case .opened: self.message == .opening
        case .refused: true
        case .validWithForeignShare: false
        }
    }
}
