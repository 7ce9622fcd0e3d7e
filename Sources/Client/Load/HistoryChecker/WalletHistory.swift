package import Vocabulary

/// A linearizability checker for one wallet: the possible states on its server, given its operations and
/// responses.
///
/// Implements the rules of docs/protocol.md from the client's side: each response is checked against every
/// order in which the server may have judged the pending operations. There are no false alarms: the checker
/// allows for lost responses, server crashes, reordered messages and slightly different clocks. It holds no
/// secrets and reads no clock; the caller passes the time.
///
/// Times are the server's as far as they are known: for an operation the earliest at which it can have met
/// the server's clock, for a response the latest.
package struct WalletHistory: Sendable {
    private let rules: CheckerRules
    /// The wallet's state, valid while ``concurrent`` is nil.
    private var state: ModelState
    /// The only pending operation; the usual case, which is cheap.
    private var only: PendingOperation?
    private var concurrent: ConcurrentHistory?
    /// The last moment at which a server process is known to have ended.
    private var death = Int64.min
    private var pastOverflowCount = 0

    /// Begins with a newly registered wallet, or with an earlier run's summary.
    package init(_ rules: CheckerRules, from summary: HistorySummary = .fresh, generation: Int = 0) {
        self.rules = rules
        let states = summary.states(rules, generation: generation)
        self.state = states[0]
        if states.count > 1 { self.concurrent = ConcurrentHistory(states, rules) }
    }

    /// Begins with a wallet in an unknown state.
    package init(unknownUnder rules: CheckerRules) {
        self.rules = rules
        self.state = ModelState()
        self.concurrent = ConcurrentHistory(ModelState.all(rules), rules)
    }

    /// Records an operation before it is sent.
    ///
    /// - Parameters:
    ///   - id: an id that is unique among this wallet's operations.
    ///   - first: if an attempt id is sent again, the id of the first operation that carried it.
    package mutating func invoke(
        _ id: Int,
        _ operation: WalletOperation,
        repeating first: Int? = nil,
        at now: Timestamp
    ) {
        let attempt = first ?? id
        if self.concurrent == nil, self.only == nil {
            self.only = PendingOperation(
                id: id,
                attempt: attempt,
                operation: operation,
                sent: now.milliseconds,
                order: 0,
                isRepeated: first != nil
            )
            return
        }
        self.widen()
        self.concurrent?.expire(at: now.milliseconds)
        self.concurrent?.invoke(id, operation, attempt: attempt, at: now.milliseconds)
    }

    /// Records a response; returns a violation if no correct server can give it.
    ///
    /// After a violation the history continues from the server's claim, so that one fault is reported once.
    package mutating func complete(_ id: Int, _ response: WalletResponse, at now: Timestamp) -> HistoryViolation? {
        if self.concurrent == nil, let only = self.only, only.id == id, self.take(response, to: only, at: now) {
            return nil
        }
        self.widen()
        let violation = self.concurrent?.complete(id, response, at: now.milliseconds)
        self.narrow()
        return violation
    }

    /// Records that a response will not arrive: the operation was judged, may still be judged for a while, or will
    /// never be judged.
    package mutating func lose(_ id: Int, at now: Timestamp) {
        self.widen()
        self.concurrent?.lose(id, until: (now + self.rules.lateEffect).milliseconds)
        self.concurrent?.serverEnded(by: self.death)
        self.narrow()
    }

    /// Records that the server's process ended before this moment: it will not judge an operation sent to it
    /// earlier.
    package mutating func serverEnded(by now: Timestamp) {
        guard now.milliseconds > self.death else { return }
        self.death = now.milliseconds
        self.concurrent?.serverEnded(by: now.milliseconds)
        self.narrow()
    }

    /// True if no pending operation may still be judged.
    package var isQuiet: Bool { self.only == nil && (self.concurrent?.pending.isEmpty ?? true) }

    /// True if the wallet's state is known exactly.
    package var isCertain: Bool { self.concurrent == nil }

    /// The number of times that too many operations were pending to check all orders, so that a response was checked
    /// against an unknown state.
    package var overflowCount: Int { self.pastOverflowCount + (self.concurrent?.overflowCount ?? 0) }

    /// The summary for a later run, which sends nothing before all of this run's connections have ended.
    ///
    /// - Parameter generation: the generation of the PIN key that the later run will take for the current one.
    package func summary(at now: Timestamp, generation: Int) -> HistorySummary {
        var other = self
        other.widen()
        guard var concurrent = other.concurrent else { return .fresh }
        let end = (now + self.rules.lateEffect).milliseconds
        for id in concurrent.pending.keys { concurrent.lose(id, until: end) }
        concurrent.expire(at: .max)
        return HistorySummary(concurrent.linearizations.map(\.state), generation: generation)
    }

    /// Handles the usual case: one operation, one state, one response.
    private mutating func take(_ response: WalletResponse, to only: PendingOperation, at now: Timestamp) -> Bool {
        let window = Window(from: only.sent, until: now.milliseconds, oldest: only.sent)
        if let state = self.state.admits(response, to: only, in: window, isExact: true, self.rules) {
            self.state = state
        } else if case .verdict(let verdict) = response,
            let judged = self.state.judging(only.operation, by: .attempt(only.attempt), in: window, self.rules),
            judged.verdict == verdict
        {
            self.state = judged.state
        } else {
            return false
        }
        self.only = nil
        return true
    }

    /// Switches to the general case.
    private mutating func widen() {
        guard self.concurrent == nil else { return }
        var concurrent = ConcurrentHistory([self.state], self.rules)
        if let only = self.only { concurrent.add(only) }
        self.only = nil
        self.concurrent = concurrent
    }

    /// Switches back to the usual case once only one state is possible and no operation is pending.
    private mutating func narrow() {
        guard let state = self.concurrent?.settled else { return }
        self.state = state
        self.pastOverflowCount = self.overflowCount
        self.concurrent = nil
    }
}
