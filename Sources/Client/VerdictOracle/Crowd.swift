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
    /// The places of those of each kind, ascending.
    var kinds: [MessageKind: [Int]] = [:]
    var possibilities: Set<Possibility>
    /// The place of what is sent next.
    var order = 1
    /// How often there were too many orders to follow, so that everything had to be taken for possible.
    var timesForgotten = 0
    /// True where there are more orders than can be followed, until everything is forgotten.
    var isOverwhelmed = false

    /// Beyond so many orders everything is taken for possible.
    static let most = 2_048

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
        self.kinds[MessageKind(sent), default: []].append(sent.order)
        self.order = max(self.order, sent.order + 1)
    }

    mutating func remove(_ sent: SentMessage) {
        self.sent[sent.id] = nil
        let kind = MessageKind(sent)
        self.kinds[kind]?.removeAll { $0 == sent.order }
        if self.kinds[kind]?.isEmpty == true { self.kinds[kind] = nil }
    }

    /// Tells one message from all others, because its entry is sent once more.
    ///
    /// Each verdict that its kind is owed may have been its own.
    private mutating func name(_ sent: SentMessage) {
        let old = MessageKind(sent)
        self.remove(sent)
        var named = sent
        named.isNamed = true
        let kind = MessageKind(named)
        self.add(named)
        self.kinds[kind]?.sort()
        var next: Set<Possibility> = []
        for possibility in self.possibilities {
            if self.isFeasible(possibility) { next.insert(possibility) }
            for index in possibility.owed.indices {
                let owed = possibility.owed[index]
                guard owed.kind == old, owed.judgedBefore > sent.order else { continue }
                var own = possibility.giving(index, to: named)
                own.owed.append(
                    Possibility.Owed(
                        kind: kind,
                        verdict: owed.verdict,
                        judgedBefore: owed.judgedBefore,
                        event: owed.event
                    )
                )
                own.owed.sort { $0.judgedBefore < $1.judgedBefore }
                if self.isFeasible(own) { next.insert(own) }
            }
        }
        self.possibilities = next
    }

    /// Whether each owed verdict has a message of its own that it can be the verdict of.
    ///
    /// Those sent before the one verdict were also sent before a later one, so counting is enough.
    func isFeasible(_ possibility: Possibility) -> Bool {
        var counts: [MessageKind: Int] = [:]
        for owed in possibility.owed {
            let count = counts[owed.kind, default: 0] + 1
            counts[owed.kind] = count
            let able = self.kinds[owed.kind, default: []].prefix { $0 < owed.judgedBefore }.count
            if able < count { return false }
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
                let kind = MessageKind(sent)
                for (index, owed) in possibility.owed.enumerated()
                where owed.kind == kind && owed.verdict == verdict && owed.judgedBefore > sent.order {
                    self.keep(possibility.giving(index, to: sent), in: &next)
                }
            }
            for past in possibility.past where past.endedBefore > sent.order {
                if past.state.admits(answer, to: sent, in: window, isExact: false, self.rules) != nil {
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
        var waiting = [start]
        var seen: Set<Possibility> = []
        while let possibility = waiting.popLast() {
            self.isOverwhelmed = self.isOverwhelmed || seen.count > Self.most || next.count > Self.most
            guard !self.isOverwhelmed else { return }
            if let answer {
                let state = possibility.state.admits(answer, to: sent, in: window, isExact: sent.isAlone, self.rules)
                if let state {
                    var admitted = possibility
                    admitted.state = state
                    self.keep(admitted, in: &next)
                }
            }
            let judged = possibility.state.judging(sent.message, by: .entry(sent.entry), in: window, self.rules)
            if let judged, answer == nil || answer == .verdict(judged.verdict) {
                let moved = possibility.moved(to: judged.state, order: self.order, remembering: !self.sent.isEmpty)
                self.keep(moved, in: &next)
            }
            for kind in self.kinds.keys {
                guard let moved = self.judging(kind, in: possibility, window) else { continue }
                if seen.insert(moved).inserted { waiting.append(moved) }
            }
        }
    }

    /// One of a kind judged, whichever it is; nil where none is left, or it would change nothing.
    private func judging(_ kind: MessageKind, in possibility: Possibility, _ window: Window) -> Possibility? {
        let taken = possibility.owed.count { $0.kind == kind }
        guard taken < self.kinds[kind, default: []].count else { return nil }
        let event = self.order << 12 | possibility.past.count & 0xFFF
        let origin: PossibleState.LastWrong = kind.entry.map { .entry($0) } ?? .event(event)
        guard let (state, verdict) = possibility.state.judging(kind.message, by: origin, in: window, self.rules),
            state != possibility.state
        else { return nil }
        var moved = possibility.moved(to: state, order: self.order, remembering: true)
        moved.owed.append(Possibility.Owed(kind: kind, verdict: verdict, judgedBefore: self.order, event: event))
        return moved
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
