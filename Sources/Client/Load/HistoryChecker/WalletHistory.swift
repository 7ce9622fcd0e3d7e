package import Vocabulary

/// A linearizability checker for one wallet: the possible states on its server, given its operations and responses.
///
/// This implements the rules in docs/protocol.md from the client's point of view: there must be an order of the
/// operations that explains every response and is consistent with real time and the attempt policy. The checker raises
/// no false alarms, because it takes lost responses, server crashes, reordered messages and slightly different clocks
/// into account. It does not contain any secrets or read the clock. The caller passes the time.
///
/// Receipts number the judged attempts, so the server itself states their order, and the checker only verifies it. A
/// response is placed once every operation that might come before it has its response or is lost. Only lost operations
/// and responses without a receipt leave a choice, so the time is linear in the length of the history if the number of
/// overlapping operations is bounded.
///
/// Times are given in the server's time, as far as it is known. An operation carries the earliest time that the
/// server's clock may have shown when the operation took effect, and a response carries the latest.
package struct WalletHistory: Sendable {
    let rules: CheckerRules
    var linearizations: [Linearization]
    /// Operations without a response, in the order they were sent.
    var inFlight: [SentOperation] = []
    /// Operations that will not receive a response but may still have a place in the order.
    var lost: [SentOperation] = []
    var backlog = Backlog()
    /// The number of events so far.
    private var events = 0
    /// The epoch of the receipts, or nil before the first one.
    private var epoch: UInt64?
    /// The event that showed that the wallet had been revoked.
    private var revoked = Int.max
    /// The latest time by which a server process is known to have ended.
    private var death = Int64.min
    /// The number of times the state was reset to unknown because there were too many possible orders.
    package private(set) var overflowCount = 0
    /// The number of times receipts from a new epoch arrived.
    ///
    /// This means that a backup was restored and the state is unknown.
    package private(set) var epochStepCount = 0

    /// An upper bound on the number of operations that searches have visited.
    ///
    /// Tests verify that it is proportional to the length of the history.
    package internal(set) var visitCount = 0

    /// The maximum number of linearizations.
    ///
    /// If there are more, the state is reset to unknown.
    static let maxLinearizations = 2048

    /// Starts with a newly registered wallet, or with the summary from an earlier run.
    package init(_ rules: CheckerRules, from summary: HistorySummary = .fresh, generation: Int = 0) {
        self.rules = rules
        let number: UInt64? = summary == .fresh ? 0 : nil
        self.linearizations = summary.states(rules, generation: generation).map { Linearization($0, number: number) }
    }

    /// Starts with a wallet in an unknown state.
    package init(unknownUnder rules: CheckerRules) {
        self.rules = rules
        self.linearizations = ModelState.all(rules).map { Linearization($0) }
    }

    /// Whether all operations are decided: each was answered, or can no longer be judged.
    package var isQuiet: Bool { self.inFlight.isEmpty && self.lost.allSatisfy { $0.ended < .max } }

    // MARK: Events

    /// Records an operation before it is sent.
    ///
    /// - Parameters:
    ///   - id: An id that is unique among this wallet's operations.
    ///   - first: If an attempt id is sent again, the id of the first operation that carried it.
    package mutating func invoke(
        _ id: Int,
        _ operation: WalletOperation,
        repeating first: Int? = nil,
        at now: Timestamp
    ) {
        self.expire(at: now.milliseconds)
        self.events += 1
        let late = self.lost.filter { $0.ended == .max }
        let oldest = late.reduce(min(self.inFlight.first?.sent ?? .max, now.milliseconds)) { min($0, $1.sent) }
        var sent = SentOperation(
            id: id,
            attempt: first ?? id,
            operation: operation,
            sent: now.milliseconds,
            oldest: oldest,
            began: self.events
        )
        sent.isAlone = self.inFlight.isEmpty && late.isEmpty
        for index in self.inFlight.indices.reversed() where self.inFlight[index].isAlone {
            self.inFlight[index].isAlone = false
        }
        if let first {
            sent.isRepeated = true
            self.separate(first)
        }
        self.inFlight.append(sent)
    }

    /// Records a response.
    ///
    /// Returns a violation if the responses so far cannot have come from a correct server. The violation may concern an
    /// earlier response whose explanation depended on this one. After a violation, the history continues from an
    /// unknown state, so that a fault is reported only once.
    package mutating func complete(_ id: Int, _ response: WalletResponse, at now: Timestamp) -> HistoryViolation? {
        guard let index = self.inFlight.firstIndex(where: { $0.id == id }) else { return .answerToAnotherQuestion }
        self.events += 1
        var sent = self.inFlight.remove(at: index)
        sent.ended = self.events
        sent.until = now.milliseconds
        sent.response = response
        if response == .revoked { self.revoked = min(self.revoked, self.events) }
        let isLate = sent.began > self.revoked && response != .revoked && response != .refused
        guard !isLate, sent.allows(response) else {
            let violation = isLate ? .answeredAfterRevocation : self.violation(by: sent)
            self.continueAfter(sent)
            return violation
        }
        if sent.predatesReset {
            // It may have been judged at any time, and its response refers to a state that is no longer known.
            sent.response = nil
            self.lost.append(sent)
        } else if response != .refused, response != .revoked {
            if let violation = self.receive(sent) { return violation }
        }
        return self.settle()
    }

    /// Records that a response will not arrive.
    ///
    /// The operation was judged, may still be judged, or never will be. Returns a violation if the other responses
    /// cannot have come from a correct server.
    package mutating func lose(_ id: Int, at now: Timestamp) -> HistoryViolation? {
        guard let index = self.inFlight.firstIndex(where: { $0.id == id }) else { return nil }
        self.events += 1
        var sent = self.inFlight.remove(at: index)
        // A session has no effect on the state.
        if sent.operation != .opening {
            sent.isAlone = false
            sent.until = (now + self.rules.lateEffect).milliseconds
            self.lost.append(sent)
            self.expire(at: .min)
        }
        return self.settle()
    }

    /// Records that the server's process ended before this time.
    ///
    /// It will not judge any operations sent to it earlier.
    package mutating func serverEnded(by now: Timestamp) {
        guard now.milliseconds > self.death else { return }
        self.death = now.milliseconds
        self.expire(at: .min)
    }

    /// Records that an operator's revocation of the wallet has returned.
    ///
    /// From this point on, no operation may receive a verdict or a session.
    package mutating func revocationReturned() {
        self.events += 1
        self.revoked = min(self.revoked, self.events)
    }

    /// Expires lost operations that can no longer take effect.
    private mutating func expire(at now: Int64) {
        for index in self.lost.indices where self.lost[index].ended == .max {
            let lost = self.lost[index]
            if lost.sent <= self.death {
                self.lost[index].until = max(lost.sent, min(lost.until, self.death))
            } else if lost.until >= now {
                continue
            }
            self.events += 1
            self.lost[index].ended = self.events
        }
    }

    /// Returns the summary for a later run.
    ///
    /// That run must not send anything before all of this run's connections have ended.
    ///
    /// - Parameter generation: The generation of the PIN key that the later run will assume to be current.
    package func summary(at now: Timestamp, generation: Int) -> HistorySummary {
        var other = self
        for operation in self.inFlight { _ = other.lose(operation.id, at: now) }
        return HistorySummary(other.outcomes.map(\.state), generation: generation)
    }
}

extension WalletHistory {
    /// Stores a response; returns a violation if its receipt contradicts the numbers so far.
    private mutating func receive(_ sent: SentOperation) -> HistoryViolation? {
        if let place = sent.place {
            if let epoch = self.epoch, place.epoch != epoch {
                guard place.epoch > epoch else {
                    self.reset()
                    return .olderEpoch
                }
                self.epochStepCount += 1
                self.reset()
            }
            self.epoch = place.epoch
            let isFree = !place.isJudged || (place.number > 0 && self.backlog.judged(place.number) == nil)
            let before = self.linearizations.filter { linearization in
                linearization.number.map { place.isJudged ? $0 < place.number : $0 <= place.number } ?? true
            }
            guard isFree, !before.isEmpty else {
                self.reset()
                return .impossibleNumber(place.number)
            }
            self.linearizations = before
        }
        self.backlog.insert(sent)
        return nil
    }

    /// Resets the state to unknown.
    ///
    /// Pending operations may then receive any response, and may still be judged.
    mutating func reset() {
        for index in self.inFlight.indices {
            self.inFlight[index].predatesReset = true
            self.inFlight[index].isAlone = false
        }
        // All other operations precede those that follow, so the unknown state includes their effects.
        self.lost.removeAll { $0.ended < .max }
        self.backlog = Backlog()
        self.linearizations = ModelState.all(self.rules).map { Linearization($0) }
    }

    /// Records a reset that was necessary because there were too many possible orders.
    mutating func overflow() {
        self.overflowCount += 1
        self.reset()
    }

    /// Continues after a violation by assuming that the server is right, so that a fault is reported only once.
    mutating func continueAfter(_ operation: SentOperation) {
        let isLast = self.inFlight.isEmpty && self.backlog.operations.allSatisfy { $0.began <= operation.began }
        self.reset()
        guard isLast else { return }
        let claimed = self.linearizations.compactMap { linearization -> Linearization? in
            linearization.state.following(operation, self.rules).map { Linearization($0) }
        }
        if !claimed.isEmpty { self.linearizations = claimed }
    }

    /// Makes a lost operation distinguishable, because its attempt is being sent again.
    ///
    /// Each lost operation that was interchangeable with it may have been this one.
    private mutating func separate(_ attempt: Int) {
        for index in self.inFlight.indices where self.inFlight[index].attempt == attempt {
            self.inFlight[index].isRepeated = true
        }
        for index in self.lost.indices where self.lost[index].attempt == attempt && !self.lost[index].isRepeated {
            self.lost[index].isRepeated = true
            let repeated = self.lost[index]
            for other in self.lost where other.operation == repeated.operation && !other.isRepeated {
                for exchanged in self.linearizations.compactMap({ $0.exchanging(repeated, other) })
                where !self.linearizations.contains(exchanged) {
                    self.linearizations.append(exchanged)
                }
            }
        }
    }
}

/// Searches for an order of the operations using Wing and Gong's algorithm.
///
/// The next operation in the order must be one that began before any unplaced operation ended.
extension WalletHistory {
    private enum Step {
        /// No operation can be placed until another response arrives.
        case waits
        /// One more operation can be placed, in these ways.
        case places([Linearization])
        /// No order explains this operation's response, or no operation exists for this number.
        case contradiction(SentOperation, missing: UInt64?)
    }

    /// Places each response whose predecessors are all known.
    ///
    /// Returns a violation if no order explains one of them.
    mutating func settle() -> HistoryViolation? {
        while true {
            var next: [Linearization] = []
            var found: (operation: SentOperation, missing: UInt64?)?
            var isFinished = true
            for linearization in self.linearizations {
                self.visitCount += 1 + self.backlog.operations.count + self.lost.count + self.inFlight.count
                switch self.step(linearization) {
                case .waits: next.append(linearization)
                case .places(let ways):
                    next += ways
                    isFinished = false
                case .contradiction(let operation, let missing):
                    if found.map({ $0.operation.began < operation.began }) ?? true { found = (operation, missing) }
                }
            }
            if next.isEmpty, let found {
                let violation =
                    found.missing.map { HistoryViolation.unexplainedAttempt(number: $0) }
                    ?? self.violation(by: found.operation)
                self.continueAfter(found.operation)
                return violation
            }
            self.linearizations = next.count > 1 ? Array(Set(next)) : next
            guard self.linearizations.count <= Self.maxLinearizations else {
                self.overflow()
                return nil
            }
            self.backlog.removePlaced(in: &self.linearizations)
            if isFinished { break }
        }
        self.forget()
        return nil
    }

    private func step(_ linearization: Linearization) -> Step {
        // The operation that ended first. All operations before it in the order began before it ended.
        var first: SentOperation?
        for operation in self.backlog.operations {
            if let first, operation.began > first.ended { break }
            guard !linearization.hasPlaced(operation) else { continue }
            if first.map({ operation.ended < $0.ended }) ?? true { first = operation }
        }
        guard let first else { return .waits }
        // An operation in flight may have to be placed first.
        // rule: load-history-order-of-arrival
        if let oldest = self.inFlight.first, oldest.began < first.ended { return .waits }
        var ways: [Linearization] = []
        var isPlaced = false
        for operation in self.backlog.operations {
            guard operation.began <= first.ended else { break }
            guard !operation.isJudged, !linearization.hasPlaced(operation),
                operation.place.map({ $0.number == linearization.number }) ?? true,
                let state = linearization.state.following(operation, self.rules)
            else { continue }
            ways.append(linearization.placing(operation, state))
            // A response that does not change the state can be placed as early as possible without losing anything.
            isPlaced = state == linearization.state
            if isPlaced { break }
        }
        let following = linearization.number.flatMap { self.backlog.judged($0 + 1) }
        if !isPlaced { ways += self.ways(toNumber: linearization, following, before: first) }
        if following == nil { ways += self.ways(toTakeLost: linearization, before: first) }
        guard ways.isEmpty else { return .places(ways) }
        let isGap = following == nil && (first.place?.number ?? 0) > linearization.number ?? .max
        let missing = isGap ? linearization.number.map { $0 + 1 } : nil
        let next = following.flatMap { $0.began < first.ended ? $0 : nil }
        return .contradiction(next ?? first, missing: missing)
    }

    /// Returns the ways to place the attempt with the next number, or to assume a first number.
    private func ways(
        toNumber linearization: Linearization,
        _ following: SentOperation?,
        before first: SentOperation
    ) -> [Linearization] {
        guard linearization.number != nil else {
            var known = linearization
            for operation in self.backlog.operations {
                guard operation.began <= first.ended else { break }
                guard let place = operation.place else { continue }
                let number = place.isJudged ? place.number &- 1 : place.number
                known.number = min(known.number ?? .max, number)
            }
            return known.number == nil ? [] : [known]
        }
        guard let following, following.began <= first.ended,
            let state = linearization.state.following(following, self.rules)
        else { return [] }
        return [linearization.placing(following, state)]
    }

    /// Returns the ways to place a lost operation next.
    ///
    /// Of several interchangeable operations, only the first to expire is used.
    private func ways(toTakeLost linearization: Linearization, before first: SentOperation? = nil) -> [Linearization] {
        var candidates: [OperationClass: (lost: SentOperation, window: Window)] = [:]
        for lost in self.lost where linearization.mayTake(lost, before: first?.ended ?? .max) {
            let window = lost.window(until: first?.until ?? .max)
            guard let known = candidates[OperationClass(lost)] else {
                candidates[OperationClass(lost)] = (lost, window)
                continue
            }
            let isFirst = (lost.ended, lost.began) < (known.lost.ended, known.lost.began)
            // Any of them may have started a block or been rejected because of one, each at a different time.
            candidates[OperationClass(lost)] = (isFirst ? lost : known.lost, known.window.hull(with: window))
        }
        return candidates.values.compactMap { lost, window in
            linearization.state.judging(lost.operation, by: lost.attempt, in: window, self.rules)
                .map { linearization.taking(lost, before: first?.ended ?? .max, $0.state) }
        }
    }

    /// Operations that the server cannot tell apart.
    private struct OperationClass: Hashable {
        let operation: WalletOperation
        /// Only set if the attempt was repeated, because the server counts a repeated attempt only once.
        let attempt: Int?

        init(_ sent: SentOperation) {
            self.operation = sent.operation
            self.attempt = sent.isRepeated ? sent.attempt : nil
        }
    }

    /// Drops details that can no longer matter, so that linearizations differing only in these details become equal.
    private mutating func forget() {
        let isPlain = self.lost.isEmpty && self.linearizations.count == 1
        if isPlain, self.linearizations[0].used.isEmpty { return }
        let needed = self.lost.filter { lost in self.linearizations.contains { self.mayMatter(lost, in: $0) } }
        self.lost = needed
        let ids = Set(needed.map(\.id))
        for index in self.linearizations.indices {
            self.linearizations[index].used = self.linearizations[index].used.filter { ids.contains($0.key) }
            if ids.isEmpty { self.linearizations[index].latest = 0 }
        }
        guard self.linearizations.count > 1 else { return }
        self.linearizations = self.inFlight.isEmpty ? Self.merged(self.linearizations) : Array(Set(self.linearizations))
    }

    /// Returns whether a lost operation may still be judged, or may turn out to have been judged instead of another.
    ///
    /// The latter becomes known if either of the two is repeated.
    private func mayMatter(_ lost: SentOperation, in linearization: Linearization) -> Bool {
        if linearization.mayTake(lost, before: .max) { return true }
        guard !lost.isRepeated else { return false }
        return self.lost.contains { other in
            guard other.id != lost.id, OperationClass(other) == OperationClass(lost),
                let exchanged = linearization.exchanging(lost, other)
            else { return false }
            return exchanged.state != linearization.state || exchanged.mayTake(lost, before: .max)
                || linearization.mayTake(other, before: .max)
        }
    }

    /// Merges linearizations that differ only in the end of a block.
    ///
    /// The span of the result covers all of them.
    private static func merged(_ linearizations: [Linearization]) -> [Linearization] {
        var merged: Set<Linearization> = []
        var blocks: [Linearization: BlockSpan] = [:]
        for linearization in linearizations {
            guard let block = linearization.state.block else {
                merged.insert(linearization)
                continue
            }
            var other = linearization
            other.state.block = nil
            blocks[other] = blocks[other]?.hull(with: block) ?? block
        }
        for (linearization, block) in blocks {
            var blocked = linearization
            blocked.state.block = block
            merged.insert(blocked)
        }
        return Array(merged)
    }

    /// All linearizations, with any number of lost operations judged.
    var outcomes: [Linearization] {
        var (all, queue) = (Set(self.linearizations), self.linearizations)
        while let linearization = queue.popLast(), all.count <= Self.maxLinearizations {
            for next in self.ways(toTakeLost: linearization) where all.insert(next).inserted { queue.append(next) }
        }
        return all.count <= Self.maxLinearizations ? Array(all) : ModelState.all(self.rules).map { Linearization($0) }
    }
}
