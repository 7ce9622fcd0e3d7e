internal import Vocabulary

/// One way in which a wallet may stand on its server.
struct PossibleState: Hashable, Sendable {
    /// Wrong PINs since the last right one.
    var failures = 0
    var isPermanent = false
    /// The block that the last wrong PIN began; it may be over.
    var block: BlockSpan?
    /// Of the PIN key in force; nil where that is not known.
    var generation: Int?
    var lastWrong = LastWrong.none

    /// Whose wrong PIN was counted last: what decides whether a repeated message is counted again.
    enum LastWrong: Hashable, Sendable {
        case none
        case entry(Int)
        /// Of a message that is not known yet.
        case event(Int)
        /// Anybody's.
        case unknown
    }
}

/// When a block ends, as far as that is known; in milliseconds since 1970, tolerance included.
struct BlockSpan: Hashable, Sendable {
    var earliest: Int64
    var latest: Int64
    /// Nil where a policy of an earlier run may have begun it.
    var length: Int64?

    /// A block of which nothing is known but that there may be one.
    static let unknown = BlockSpan(earliest: .min / 4, latest: .max / 4, length: nil)

    /// Both taken together.
    func hull(with other: BlockSpan) -> BlockSpan {
        BlockSpan(
            earliest: min(self.earliest, other.earliest),
            latest: max(self.latest, other.latest),
            length: self.length == other.length ? self.length : nil
        )
    }
}

/// The moments between which a message met the server's clock, and the oldest of all that may still meet it.
struct Window {
    let from: Int64
    let until: Int64
    /// A message that waited in the server since then carries an older time and shortens a new block to match.
    let oldest: Int64
}

extension PossibleState {
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

    /// The state after an answer that changes nothing; nil where it cannot be given in this state.
    ///
    /// - Parameter isExact: The message met the server alone, so that what it says of a block's end stays true.
    func admits(
        _ answer: Answer,
        to sent: SentMessage,
        in window: Window,
        isExact: Bool,
        _ rules: OracleRules
    ) -> PossibleState? {
        switch answer {
        case .opened(let state, let generation):
            guard sent.message == .opening, self.mayHave(generation) else { return nil }
            return self.shows(state, window, isExact: isExact, rules)?.with(generation: generation)
        case .pinKeyChanged(let current):
            guard let current, let named = sent.message.generation, current != named, self.mayHave(current) else {
                return nil
            }
            return self.with(generation: current)
        case .verdict(let verdict):
            guard let named = sent.message.generation, self.mayHave(named) else { return nil }
            return self.admits(verdict, to: sent, in: window, isExact: isExact, rules)?.with(generation: named)
        case .refused: return self
        case .validWithForeignShare: return nil
        }
    }

    private func admits(
        _ verdict: PINVerdict,
        to sent: SentMessage,
        in window: Window,
        isExact: Bool,
        _ rules: OracleRules
    ) -> PossibleState? {
        switch verdict {
        case .blocked(let remaining): self.shows(.blocked(remaining: remaining), window, isExact: isExact, rules)
        case .blockedPermanently: self.shows(.blockedPermanently, window, isExact: isExact, rules)
        case .wrong(let state):
            // A repetition of the last wrong entry: the present state is told, whatever PIN came with it.
            self.repeats(sent) && self.mayBeOpen(window) && rules.openState(after: self.failures) == state
                ? self.with(last: .entry(sent.entry)) : nil
        case .valid:
            // Where nothing is counted a right PIN changes nothing.
            sent.message.isRight && sent.message.generationAfterwards == sent.message.generation && self.isClean
                ? self : nil
        }
    }

    private func repeats(_ sent: SentMessage) -> Bool {
        self.lastWrong == .entry(sent.entry) || (sent.isNamed && self.lastWrong == .unknown)
    }

    private func with(last: LastWrong) -> PossibleState {
        var state = self
        state.lastWrong = last
        return state
    }

    private var isClean: Bool {
        self.failures == 0 && self.block == nil && !self.isPermanent && self.lastWrong == .none
    }

    private func shows(_ state: PINState, _ window: Window, isExact: Bool, _ rules: OracleRules) -> PossibleState? {
        switch state {
        case .open: return self.mayBeOpen(window) && rules.openState(after: self.failures) == state ? self : nil
        case .blockedPermanently: return self.isPermanent ? self : nil
        case .blocked(let remaining):
            guard self.mayBeBlocked(for: remaining, window) else { return nil }
            return isExact ? self.with(remaining: remaining.milliseconds, window, rules) : self
        }
    }

    /// What an answer says of the block's end is the more exact, the shorter its message was on its way.
    private func with(remaining: Int64, _ window: Window, _ rules: OracleRules) -> PossibleState {
        guard let block = self.block else { return self }
        let tolerance = rules.tolerance(over: remaining)
        let earliest = max(block.earliest, window.from + remaining - tolerance)
        let latest = min(block.latest, window.until + remaining + tolerance)
        var state = self
        if earliest <= latest { state.block = BlockSpan(earliest: earliest, latest: latest, length: block.length) }
        return state
    }

    private func with(generation: Int) -> PossibleState {
        var state = self
        state.generation = generation
        return state
    }

    /// The state and the verdict after a message is counted and judged; nil where it would not be.
    func judging(
        _ message: Message,
        by origin: LastWrong,
        in window: Window,
        _ rules: OracleRules
    ) -> (state: PossibleState, verdict: PINVerdict)? {
        guard let named = message.generation, self.mayHave(named), self.mayBeOpen(window) else { return nil }
        if case .entry = origin, self.lastWrong == origin { return nil }
        if message.isRight { return (PossibleState(generation: message.generationAfterwards), .valid) }
        var state = PossibleState(failures: self.failures + 1, generation: named, lastWrong: origin)
        guard state.failures < rules.policy.allowance else {
            state = PossibleState(failures: rules.policy.allowance, isPermanent: true, generation: named)
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
