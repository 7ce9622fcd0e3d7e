package import Vocabulary

/// The wrong PINs of a wallet since the last right one.
///
/// The record is charged before a PIN is judged, and acquitted only if the PIN proved right. The caller makes the
/// charged record durable before any client learns the verdict (G4). Only
/// ``judge(_:policy:now:isRight:)`` implements that order.
///
/// A permanent block and the end of a block are stored facts. Neither is recomputed from the count, so a changed
/// policy cannot reopen a blocked wallet.
package struct AttemptRecord: Hashable, Sendable {
    /// A period in which no PIN is judged.
    package struct Block: Hashable, Sendable {
        /// The first moment at which a PIN is judged again.
        package let end: Timestamp
        /// The length under the policy when the block began; greater than zero.
        package let length: Duration

        /// Creates a block that begins at `now`; returns nil if `length` is under a millisecond.
        init?(of length: Duration, from now: Timestamp) {
            guard length >= .milliseconds(1) else { return nil }
            self.init(end: now + length, length: length)
        }

        init(end: Timestamp, length: Duration) {
            self.end = end
            self.length = length
        }
    }

    /// Wrong PINs since the last right one; saturates at ``mostFailures``.
    package internal(set) var failures = 0
    /// The block that the last wrong PIN began; it may be over.
    package internal(set) var block: Block?
    /// True if no PIN is ever judged again.
    package internal(set) var isBlockedPermanently = false
    /// The id of the attempt counted last, kept so that a repetition of its message costs nothing.
    package internal(set) var lastWrongAttempt: AttemptID?
    /// Wrong PINs that were judged since the last right one, without the charges of restores; for receipts only.
    package internal(set) var wrongPINs = 0
    /// The time of the last of them.
    package internal(set) var lastWrong: Timestamp?

    /// The largest count that fits into two bytes; no policy allows as many.
    package static let mostFailures = Int(UInt16.max)

    /// Creates an empty record.
    package init() {}

    /// Indicates that the record equals an absent one.
    package var isEmpty: Bool { self == AttemptRecord() }
}

extension AttemptRecord {
    /// The permission to judge a PIN, or the answer without judging.
    package enum Charge: Hashable, Sendable {
        /// The attempt is counted, and the PIN may be judged.
        case granted
        /// The PIN may not be judged; nothing was counted. The answer follows from the present state alone.
        case refused(PINVerdict)
    }

    /// Counts one attempt, if one is allowed.
    ///
    /// A repetition of the last wrong attempt gets that attempt's verdict, even if it carries another PIN: one attempt
    /// id never yields more than one answer.
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

    /// Blocks the wallet permanently, because an audit log records that it was; used by a restore.
    package mutating func blockPermanently() {
        self.failures = max(self.failures, 1)
        self.isBlockedPermanently = true
        self.block = nil
    }

    /// Resets the record after the right PIN.
    package mutating func acquit() {
        self = AttemptRecord()
    }

    /// Counts an attempt, judges it, and resets the count if the PIN was right, in this order and only here.
    ///
    /// `isRight` runs at most once, after the count, and never if none was granted. For every verdict, the caller
    /// stores the changed record durably before it discloses the verdict.
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
            guard isRight() else {
                self.wrongPINs = min(self.wrongPINs + 1, Self.mostFailures)
                self.lastWrong = now
                return .wrong(self.state(policy: policy, now: now))
            }
            self.acquit()
            return .valid
        }
    }

    /// The wallet's state under a policy.
    ///
    /// If the policy shrank below the present count, one attempt is left: a policy applies from the next judged
    /// attempt on and does not block by changing.
    package func state(policy: AttemptPolicy, now: Timestamp) -> PINState {
        if self.isBlockedPermanently { return .blockedPermanently }
        if let block = self.block, block.end > now { return .blocked(remaining: block.remaining(now: now)) }
        guard self.failures < policy.allowance else { return .open(attemptsLeft: 1, finalRound: true) }
        return .open(
            attemptsLeft: policy.attemptsPerRound - self.failures % policy.attemptsPerRound,
            finalRound: self.failures >= policy.allowance - policy.attemptsPerRound
        )
    }

    /// Corrects a block after the clock was set back: a block may not end later than its length from now.
    ///
    /// Returns whether the record changed and must be stored. If it were not stored, each start of the server with a
    /// wrong clock would restart the wait.
    @discardableResult
    package mutating func holdBlockToItsLength(now: Timestamp) -> Bool {
        guard let block = self.block, now + block.length < block.end else { return false }
        self.block = Block(end: now + block.length, length: block.length)
        return true
    }
}

extension AttemptRecord.Block {
    /// The remaining time, at most the block's length even if the clock was set back.
    fileprivate func remaining(now: Timestamp) -> Duration {
        now + self.length < self.end ? self.length : self.end - now
    }
}

extension AttemptPolicy {
    /// The block after this many wrong PINs: zero within a round, and the policy's last block for further rounds.
    func block(after failures: Int) -> Duration {
        guard failures.isMultiple(of: self.attemptsPerRound), let last = self.blocks.last else { return .zero }
        let round = failures / self.attemptsPerRound
        return round <= self.blocks.count ? self.blocks[round - 1] : last
    }
}
