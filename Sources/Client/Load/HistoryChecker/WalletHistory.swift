package import Vocabulary

/// What may be true of one wallet on its server, from what was sent to it and what it answered.
///
/// The rules of docs/protocol.md in the client's hands: each answer is held against every order in which the server may
/// have judged what was on its way. It never accuses wrongly: answers that were lost, a server that crashed, messages
/// that overtook each other and clocks that are not quite the same are all taken into account. Nothing that is secret is in
/// it, and it knows no clock: whoever sends says when.
///
/// Times are the server's as far as they are known: of a message the earliest at which it can have met the server's
/// clock, of an answer the latest.
package struct WalletHistory: Sendable {
    package let rules: OracleRules
    /// What is true while ``crowd`` is nil.
    private var state: PossibleState
    /// The only message on its way; the usual case, which costs next to nothing.
    private var only: SentMessage?
    private var crowd: Crowd?
    /// The last moment at which a server's process is known to have ended.
    private var death = Int64.min
    private var forgotten = 0

    /// A wallet that has just been registered, or one of which an earlier run has kept what it knew.
    package init(_ rules: OracleRules, kept: KeptHistory = .fresh, generation: Int = 0) {
        self.rules = rules
        let states = kept.states(rules, generation: generation)
        self.state = states[0]
        if states.count > 1 { self.crowd = Crowd(states, rules) }
    }

    /// A wallet of which nothing is known, until its answers tell.
    package init(unknownUnder rules: OracleRules) {
        self.rules = rules
        self.state = PossibleState()
        self.crowd = Crowd(PossibleState.all(rules), rules)
    }

    /// Notes a message before it is written.
    ///
    /// - Parameters:
    ///   - id: A number of its own among all that is sent for this wallet.
    ///   - first: Where an attempt id is sent again, the number of the first message that carried it.
    package mutating func sent(_ id: Int, _ message: Message, repeating first: Int? = nil, at now: Timestamp) {
        let entry = first ?? id
        if self.crowd == nil, self.only == nil {
            self.only = SentMessage(id: id, entry: entry, message: message, sent: now.milliseconds, order: 0)
            self.only?.isNamed = first != nil
            return
        }
        self.gather()
        self.crowd?.expire(at: now.milliseconds)
        self.crowd?.send(id, message, entry: entry, at: now.milliseconds)
    }

    /// Takes an answer in; returns what is wrong with it, if no server may give it.
    ///
    /// After a violation the history goes on from what the server said, so that one fault is told once.
    package mutating func answered(_ id: Int, _ answer: Answer, at now: Timestamp) -> Violation? {
        if self.crowd == nil, let only = self.only, only.id == id, self.take(answer, to: only, at: now) { return nil }
        self.gather()
        let violation = self.crowd?.answer(id, answer, at: now.milliseconds)
        self.settle()
        return violation
    }

    /// Notes that an answer will not come: the message was judged, or will be for a while yet, or was not.
    package mutating func lost(_ id: Int, at now: Timestamp) {
        self.gather()
        self.crowd?.lose(id, until: (now + self.rules.lateEffect).milliseconds)
        self.crowd?.serverEnded(by: self.death)
        self.settle()
    }

    /// Notes that the server's process has ended, before this moment: what it was sent until then and did not judge, it
    /// never will.
    package mutating func serverEnded(by now: Timestamp) {
        guard now.milliseconds > self.death else { return }
        self.death = now.milliseconds
        self.crowd?.serverEnded(by: now.milliseconds)
        self.settle()
    }

    /// Goes on under other rules, from the next judged PIN on; a block that runs keeps its end.
    ///
    /// Where something is on its way, nobody knows under which rules it is judged: then everything is forgotten.
    package func ruled(by rules: OracleRules) -> WalletHistory {
        guard self.isQuiet else {
            var next = WalletHistory(unknownUnder: rules)
            next.death = self.death
            return next
        }
        let states = self.crowd.map { $0.possibilities.map(\.state) } ?? [self.state]
        var next = WalletHistory(rules)
        next.death = self.death
        next.state = states[0]
        if states.count > 1 { next.crowd = Crowd(states, rules) }
        return next
    }

    /// Whether nothing is on its way that may still be judged.
    package var isQuiet: Bool { self.only == nil && (self.crowd?.sent.isEmpty ?? true) }

    /// Whether the wallet's state is known without doubt.
    package var isCertain: Bool { self.crowd == nil }

    /// How often more was on its way at once than could be followed, so that answers were held against less.
    package var timesForgotten: Int { self.forgotten + (self.crowd?.timesForgotten ?? 0) }

    /// What to keep for a later run, which sends nothing before all of this run's connections have ended.
    ///
    /// - Parameter generation: Of the PIN key that will be taken for the current one then.
    package func kept(at now: Timestamp, generation: Int) -> KeptHistory {
        var other = self
        other.gather()
        guard var crowd = other.crowd else { return .fresh }
        let end = (now + self.rules.lateEffect).milliseconds
        for id in crowd.sent.keys { crowd.lose(id, until: end) }
        crowd.expire(at: .max)
        return KeptHistory(crowd.possibilities.map(\.state), generation: generation)
    }

    /// The usual case: one message, one state, one answer.
    private mutating func take(_ answer: Answer, to only: SentMessage, at now: Timestamp) -> Bool {
        let window = Window(from: only.sent, until: now.milliseconds, oldest: only.sent)
        if let state = self.state.admits(answer, to: only, in: window, isExact: true, self.rules) {
            self.state = state
        } else if case .verdict(let verdict) = answer,
            let judged = self.state.judging(only.message, by: .entry(only.entry), in: window, self.rules),
            judged.verdict == verdict
        {
            self.state = judged.state
        } else {
            return false
        }
        self.only = nil
        return true
    }

    /// Turns to the general case.
    private mutating func gather() {
        guard self.crowd == nil else { return }
        var crowd = Crowd([self.state], self.rules)
        if let only = self.only { crowd.add(only) }
        self.only = nil
        self.crowd = crowd
    }

    /// Turns back to the usual case, once there is but one state and nothing on its way.
    private mutating func settle() {
        guard let state = self.crowd?.settled else { return }
        self.state = state
        self.forgotten = self.timesForgotten
        self.crowd = nil
    }
}
