package import Vocabulary

/// What is kept of a wallet's wrong PINs since the last right one.
///
/// The record is charged before a PIN is judged and acquitted only once it proved right. Whoever keeps it makes the
/// charged value durable before anyone learns the verdict (G4); ``judge(_:policy:now:isRight:)`` is the only place
/// where the order of the two is written.
///
/// That a wallet is blocked for good, and until when it is blocked, are stored facts. Neither is computed anew from the
/// count, so that a changed policy cannot open what is closed.
package struct AttemptRecord: Hashable, Sendable {
    /// A time in which no PIN is judged.
    package struct Block: Hashable, Sendable {
        /// The first moment at which a PIN is judged again.
        package let end: Timestamp
        /// What the policy said when the block began; longer than zero.
        package let length: Duration

        /// Begins at `now`; nil where there is nothing to wait for.
        init?(of length: Duration, from now: Timestamp) {
            guard length >= .milliseconds(1) else { return nil }
            self.init(end: now + length, length: length)
        }

        init(end: Timestamp, length: Duration) {
            self.end = end
            self.length = length
        }
    }

    /// Wrong PINs since the last right one; stays at ``mostFailures`` instead of overflowing.
    package internal(set) var failures = 0
    /// The block that the last wrong PIN began; it may be over.
    package internal(set) var block: Block?
    /// Once set, no PIN is ever judged again.
    package internal(set) var isBlockedPermanently = false
    /// The entry of a PIN that was counted last, kept so that repeating its message costs nothing.
    package internal(set) var lastWrongAttempt: AttemptID?

    /// What fits into two bytes; no policy allows as many.
    package static let mostFailures = Int(UInt16.max)

    /// Nothing counted.
    package init() {}

    /// True where the record says no more than its absence would.
    package var isEmpty: Bool { self == AttemptRecord() }
}

extension AttemptRecord {
    /// Whether a PIN may be judged.
    package enum Charge: Hashable, Sendable {
        /// It may, and it is counted already.
        case granted
        /// It may not; nothing was counted. This is the answer, drawn from the present state alone.
        case refused(PINVerdict)
    }

    /// Counts one attempt, if one may be made.
    ///
    /// A repetition of the last wrong attempt is refused with that attempt's verdict, whatever PIN comes with it: under
    /// one id nobody learns more than one answer.
    package mutating func charge(_ attempt: AttemptID, policy: AttemptPolicy, now: Timestamp) -> Charge {
        self.holdBlockToItsLength(now: now)
        switch self.state(policy: policy, now: now) {
        case .blockedPermanently:
            return .refused(.blockedPermanently)
        case .blocked(let remaining):
            return .refused(.blocked(remaining: remaining))
        case .open where self.lastWrongAttempt == attempt:
            return .refused(.wrong(self.state(policy: policy, now: now)))
        case .open:
            self.failures = min(self.failures + 1, Self.mostFailures)
            self.lastWrongAttempt = attempt
            self.isBlockedPermanently = self.failures >= policy.allowance
            self.block = self.isBlockedPermanently ? nil : Block(of: policy.block(after: self.failures), from: now)
            return .granted
        }
    }

    /// Takes everything back after the right PIN.
    package mutating func acquit() {
        self = AttemptRecord()
    }

    /// Counts an attempt, judges it and takes the count back if it was right: in this order, in this place only.
    ///
    /// `isRight` runs at most once, after the count and never where none was granted. The caller keeps the changed
    /// record durably, whatever the verdict, before it lets the verdict out.
    package mutating func judge(
        _ attempt: AttemptID,
        policy: AttemptPolicy,
        now: Timestamp,
        isRight: () -> Bool
    ) -> PINVerdict {
        switch self.charge(attempt, policy: policy, now: now) {
        case .refused(let verdict):
            return verdict
        case .granted:
            guard isRight() else { return .wrong(self.state(policy: policy, now: now)) }
            self.acquit()
            return .valid
        }
    }

    /// Where the wallet stands.
    ///
    /// A policy that shrank below what is counted already leaves one attempt: it applies from the next judged attempt
    /// on, and does not block on its own.
    package func state(policy: AttemptPolicy, now: Timestamp) -> PINState {
        if self.isBlockedPermanently { return .blockedPermanently }
        if let block = self.block, block.end > now { return .blocked(remaining: block.remaining(now: now)) }
        guard self.failures < policy.allowance else { return .open(attemptsLeft: 1, finalRound: true) }
        return .open(
            attemptsLeft: policy.attemptsPerRound - self.failures % policy.attemptsPerRound,
            finalRound: self.failures >= policy.allowance - policy.attemptsPerRound
        )
    }

    /// Notices that the clock was set back: a block that ends further off than it is long ends after its length.
    ///
    /// Returns whether the record changed and has to be kept; if it were not, each start of the server with a wrong
    /// clock would begin the wait anew.
    @discardableResult
    package mutating func holdBlockToItsLength(now: Timestamp) -> Bool {
        guard let block = self.block, now + block.length < block.end else { return false }
        self.block = Block(end: now + block.length, length: block.length)
        return true
    }
}

extension AttemptRecord.Block {
    /// At most the block's length, also where nobody has noticed yet that the clock was set back.
    fileprivate func remaining(now: Timestamp) -> Duration {
        now + self.length < self.end ? self.length : self.end - now
    }
}

extension AttemptPolicy {
    /// The block that follows so many wrong PINs, zero within a round; where the policy has fewer, its last one.
    func block(after failures: Int) -> Duration {
        guard failures.isMultiple(of: self.attemptsPerRound), let last = self.blocks.last else { return .zero }
        let round = failures / self.attemptsPerRound
        return round <= self.blocks.count ? self.blocks[round - 1] : last
    }
}
