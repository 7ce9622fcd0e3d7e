package import Vocabulary

/// A possible state of a wallet on its server.
struct ModelState: Hashable, Sendable {
    /// The number of wrong PINs since the last right one.
    var failures = 0
    var isPermanent = false
    /// The block started by the last wrong PIN.
    ///
    /// It may be over.
    var block: BlockSpan?
    /// The generation of the current PIN key, or nil if unknown.
    var generation: Int?
    var lastWrong = LastWrong.none

    /// The origin of the last counted wrong PIN, which determines whether a repeated attempt is counted again.
    enum LastWrong: Hashable, Sendable {
        case none
        case attempt(Int)
        case unknown
    }

    /// Returns every state that a wallet can be in.
    static func all(_ rules: CheckerRules, generation: Int? = nil) -> [ModelState] {
        var states = [ModelState(failures: rules.policy.allowance, isPermanent: true, generation: generation)]
        for count in 0...rules.policy.allowance {
            let last = count == 0 ? LastWrong.none : .unknown
            states.append(ModelState(failures: count, generation: generation, lastWrong: last))
            guard count > 0 else { continue }
            states.append(ModelState(failures: count, block: .unknown, generation: generation, lastWrong: last))
        }
        return states
    }
}

/// The range of times, in milliseconds since 1970, at which a block may end.
///
/// It includes the tolerance.
struct BlockSpan: Hashable, Sendable {
    var earliest: Int64
    var latest: Int64
    /// The length, or nil if the block may have been started under the policy of an earlier run.
    var length: Int64?

    /// A block with an unknown end.
    ///
    /// It may be over.
    static let unknown = BlockSpan(earliest: .min / 4, latest: .max / 4, length: nil)

    /// Returns the smallest span that contains both.
    func hull(with other: BlockSpan) -> BlockSpan {
        BlockSpan(
            earliest: min(self.earliest, other.earliest),
            latest: max(self.latest, other.latest),
            length: self.length == other.length ? self.length : nil
        )
    }
}

/// The interval during which the server read its clock for an operation.
struct Window {
    let from: Int64
    let until: Int64
    /// The earliest time on the server's clock that a pending operation may carry.
    ///
    /// If an operation has been waiting in the server since then, it carries an older time and shortens a new block
    /// accordingly.
    let oldest: Int64

    /// Returns the smallest interval that contains both.
    func hull(with other: Window) -> Window {
        Window(
            from: min(self.from, other.from),
            until: max(self.until, other.until),
            oldest: min(self.oldest, other.oldest)
        )
    }
}

extension ModelState {
    private func mayHave(_ generation: Int) -> Bool { self.generation ?? generation == generation }

    private func mayBeOpen(_ window: Window) -> Bool {
        guard !self.isPermanent else { return false }
        guard let block = self.block else { return true }
        return block.earliest <= window.until
    }

    private func mayBeBlocked(for remaining: Duration, _ window: Window) -> Bool {
        guard !self.isPermanent, let block = self.block else { return false }
        let rest = remaining.milliseconds
        guard rest > 0, rest <= block.length ?? .max else { return false }
        return block.earliest - window.until <= rest && rest <= block.latest - window.from
    }

    private func with(_ change: (inout ModelState) -> Void) -> ModelState {
        var state = self
        change(&state)
        return state
    }

    /// Returns the state after an operation with its response, or nil if the response is impossible in this state.
    func following(_ operation: SentOperation, _ rules: CheckerRules) -> ModelState? {
        let window = operation.window()
        guard operation.isJudged else { return self.admitting(operation, window, rules) }
        guard case .verdict(let verdict, _)? = operation.response,
            let judged = self.judging(operation.operation, by: operation.attempt, in: window, rules)
        else { return nil }
        return judged.verdict == verdict ? judged.state : nil
    }

    /// Returns the state after a response that changes nothing, or nil if the response is impossible in this state.
    private func admitting(_ sent: SentOperation, _ window: Window, _ rules: CheckerRules) -> ModelState? {
        switch sent.response {
        case .opened(let state, let generation)?:
            guard sent.operation == .opening, self.mayHave(generation) else { return nil }
            return self.shows(state, window, isExact: sent.isAlone, rules)?.with { $0.generation = generation }
        case .pinKeyChanged(let current)?:
            guard let current, let named = sent.operation.generation, current != named, self.mayHave(current) else {
                return nil
            }
            return self.with { $0.generation = current }
        case .verdict(let verdict, _)?:
            guard let named = sent.operation.generation, self.mayHave(named) else { return nil }
            return self.admitting(verdict, to: sent, window, rules)?.with { $0.generation = named }
        case .refused?, .revoked?: return self
        case .validWithForeignShare?, nil: return nil
        }
    }

    private func admitting(
        _ verdict: PINVerdict,
        to sent: SentOperation,
        _ window: Window,
        _ rules: CheckerRules
    ) -> ModelState? {
        switch verdict {
        case .blocked(let remaining):
            return self.shows(.blocked(remaining: remaining), window, isExact: sent.isAlone, rules)
        case .blockedPermanently: return self.shows(.blockedPermanently, window, isExact: sent.isAlone, rules)
        case .wrong(let state):
            // Repeating the last wrong attempt returns the current state, no matter which PIN is sent.
            let repeats = self.lastWrong == .attempt(sent.attempt) || (sent.isRepeated && self.lastWrong == .unknown)
            guard repeats, self.mayBeOpen(window), rules.openState(after: self.failures) == state else { return nil }
            return self.with { $0.lastWrong = .attempt(sent.attempt) }
        case .valid: return nil
        }
    }

    private func shows(_ state: PINState, _ window: Window, isExact: Bool, _ rules: CheckerRules) -> ModelState? {
        switch state {
        case .open: return self.mayBeOpen(window) && rules.openState(after: self.failures) == state ? self : nil
        case .blockedPermanently: return self.isPermanent ? self : nil
        case .blocked(let remaining):
            guard self.mayBeBlocked(for: remaining, window) else { return nil }
            return isExact ? self.with(remaining: remaining.milliseconds, window, rules) : self
        }
    }

    /// Narrows down the end of the block.
    ///
    /// The shorter the operation took, the more precise the result.
    private func with(remaining: Int64, _ window: Window, _ rules: CheckerRules) -> ModelState {
        guard let block = self.block else { return self }
        let tolerance = rules.tolerance(over: remaining)
        let earliest = max(block.earliest, window.from + remaining - tolerance)
        let latest = min(block.latest, window.until + remaining + tolerance)
        guard earliest <= latest else { return self }
        return self.with { $0.block = BlockSpan(earliest: earliest, latest: latest, length: block.length) }
    }

    /// Returns the state and verdict after the server counts and judges an operation, or nil if it would not judge it.
    func judging(
        _ operation: WalletOperation,
        by attempt: Int,
        in window: Window,
        _ rules: CheckerRules
    ) -> (state: ModelState, verdict: PINVerdict)? {
        guard let named = operation.generation, self.mayHave(named), self.mayBeOpen(window) else { return nil }
        // The invariant for a repeated attempt id: it never leads to more than one answer.
        if self.lastWrong == .attempt(attempt) { return nil }
        if operation.isRight { return (ModelState(generation: operation.generationAfterwards), .valid) }
        var state = ModelState(failures: self.failures + 1, generation: named, lastWrong: .attempt(attempt))
        guard state.failures < rules.policy.allowance else {
            state = ModelState(failures: rules.policy.allowance, isPermanent: true, generation: named)
            return (state, .wrong(.blockedPermanently))
        }
        let length = rules.blockLength(after: state.failures)
        guard length > 0 else { return (state, .wrong(rules.openState(after: state.failures))) }
        let tolerance = rules.tolerance(over: length)
        state.block = BlockSpan(
            earliest: window.oldest + length - tolerance,
            latest: window.until + length + tolerance,
            length: length
        )
        return (state, .wrong(.blocked(remaining: .milliseconds(length))))
    }
}

/// The rules that a server's responses are checked against.
///
/// All wallets in a run share one instance.
package final class CheckerRules: Sendable {
    /// The policy from the server's Hello.
    package let policy: AttemptPolicy
    /// The allowed difference between the server's clock and the run's, in addition to 1/2000 of the measured time.
    package let clockTolerance: Duration
    /// The longest time after which an operation without a response may still take effect.
    ///
    /// If the server has already read a request, closing the connection does not undo it.
    package let lateEffect: Duration

    /// Creates rules with a tolerance for the ends of blocks, to avoid false alarms if a clock is adjusted over the
    /// network.
    package init(
        policy: AttemptPolicy,
        clockTolerance: Duration = .milliseconds(50),
        lateEffect: Duration = .seconds(60)
    ) {
        self.policy = policy
        self.clockTolerance = clockTolerance
        self.lateEffect = lateEffect
    }
}

extension CheckerRules {
    /// Returns the length in milliseconds of the block that begins after this many wrong PINs, or 0 if none begins.
    func blockLength(after failures: Int) -> Int64 {
        guard failures.isMultiple(of: self.policy.attemptsPerRound), let last = self.policy.blocks.last else {
            return 0
        }
        let round = failures / self.policy.attemptsPerRound
        return max(0, (round <= self.policy.blocks.count ? self.policy.blocks[round - 1] : last).milliseconds)
    }

    /// Returns the state that an unblocked wallet reports after this many wrong PINs.
    func openState(after failures: Int) -> PINState {
        let (allowance, perRound) = (self.policy.allowance, self.policy.attemptsPerRound)
        guard failures < allowance else { return .open(attemptsLeft: 1, finalRound: true) }
        return .open(attemptsLeft: perRound - failures % perRound, finalRound: failures >= allowance - perRound)
    }

    func tolerance(over length: Int64) -> Int64 { self.clockTolerance.milliseconds + length / 2000 }
}
