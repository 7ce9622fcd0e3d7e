package import Vocabulary

/// The wrong PINs of a wallet since the last correct one.
///
/// The attempt is counted before the PIN is judged, and the count is reset only if the PIN turns out to be correct. The
/// caller must make the updated record durable before any client learns the verdict (G4).
/// ``judge(_:policy:now:isRight:)`` is the only place that implements this order.
///
/// A permanent block and the end of a block are stored as facts. Neither is recomputed from the count, so changing the
/// policy cannot unblock a wallet.
package struct AttemptRecord: Hashable, Sendable {
    /// A period during which PINs are not judged.
    package struct Block: Hashable, Sendable {
        /// The time at which PINs are judged again.
        package let end: Timestamp
        /// The length that the policy specified when the block started, always greater than zero.
        package let length: Duration

        /// Creates a block that starts at `now`, or returns nil if `length` is less than a millisecond.
        init?(of length: Duration, from now: Timestamp) {
            guard length >= .milliseconds(1) else { return nil }
            self.init(end: now + length, length: length)
        }

        init(end: Timestamp, length: Duration) {
            self.end = end
            self.length = length
        }
    }

    /// The number of wrong PINs since the last correct one, capped at ``mostFailures``.
    package internal(set) var failures = 0
    /// The block caused by the last wrong PIN.
    ///
    /// It may be over by now.
    package internal(set) var block: Block?
    /// Whether the wallet is permanently blocked, in which case no PIN is ever judged again.
    package internal(set) var isBlockedPermanently = false
    /// The id of the last attempt that was counted, kept so that repeating its message costs nothing.
    package internal(set) var lastWrongAttempt: AttemptID?
    /// The number of wrong PINs judged since the last correct one, excluding restore charges.
    ///
    /// Used only for receipts.
    package internal(set) var wrongPINs = 0
    /// The time of the last wrong PIN.
    package internal(set) var lastWrong: Timestamp?

    /// The largest count that fits in two bytes.
    ///
    /// No policy allows that many.
    package static let mostFailures = Int(UInt16.max)

    /// Creates an empty record.
    package init() {}

    /// Whether the record is equivalent to having no record.
    package var isEmpty: Bool { self == AttemptRecord() }
}

extension AttemptRecord {
    /// Permission to judge a PIN, or the answer to give without judging it.
    package enum Charge: Hashable, Sendable {
        /// The attempt is counted, and the PIN may be judged.
        case granted
        /// The PIN must not be judged, and nothing was counted.
        ///
        /// The answer depends only on the current state.
        case refused(PINVerdict)
    }

    /// Counts one attempt, unless the wallet is blocked.
    ///
    /// Repeating the last wrong attempt returns the same verdict, even with a different PIN. An attempt id can
    /// therefore never be used to get more than one answer.
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

    /// Permanently blocks the wallet because an audit log says that it was blocked.
    ///
    /// Used by restores.
    package mutating func blockPermanently() {
        self.failures = max(self.failures, 1)
        self.isBlockedPermanently = true
        self.block = nil
    }

    /// Resets the record after a correct PIN.
    package mutating func acquit() {
        self = AttemptRecord()
    }

    /// Counts an attempt, judges it, and resets the count if the PIN was correct.
    ///
    /// This is the only place where these steps happen, and they always happen in this order. `isRight` is called at
    /// most once, after the attempt has been counted, and not at all if the attempt was not granted. The caller must
    /// store the changed record durably before disclosing the verdict, whatever it is.
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

    /// Returns the state of the wallet under a policy.
    ///
    /// If the policy now allows fewer attempts than have been counted, one attempt is left. A policy takes effect with
    /// the next judged attempt, so changing it never blocks a wallet by itself.
    package func state(policy: AttemptPolicy, now: Timestamp) -> PINState {
        if self.isBlockedPermanently { return .blockedPermanently }
        if let block = self.block, block.end > now { return .blocked(remaining: block.remaining(now: now)) }
        guard self.failures < policy.allowance else { return .open(attemptsLeft: 1, finalRound: true) }
        return .open(
            attemptsLeft: policy.attemptsPerRound - self.failures % policy.attemptsPerRound,
            finalRound: self.failures >= policy.allowance - policy.attemptsPerRound
        )
    }

    /// Shortens a block if the clock was set back, so that it does not end later than its length from now.
    ///
    /// Returns whether the record changed and must be stored. If it were not stored, the wait would start over each
    /// time the server starts with a wrong clock.
    @discardableResult
    package mutating func holdBlockToItsLength(now: Timestamp) -> Bool {
        guard let block = self.block, now + block.length < block.end else { return false }
        self.block = Block(end: now + block.length, length: block.length)
        return true
    }
}

extension AttemptRecord.Block {
    /// The remaining time, which never exceeds the length of the block, even if the clock was set back.
    fileprivate func remaining(now: Timestamp) -> Duration {
        now + self.length < self.end ? self.length : self.end - now
    }
}

extension AttemptPolicy {
    /// Returns the block that follows this many wrong PINs: zero within a round, or the policy's last block for any
    /// further rounds.
    func block(after failures: Int) -> Duration {
        guard failures.isMultiple(of: self.attemptsPerRound), let last = self.blocks.last else { return .zero }
        let round = failures / self.attemptsPerRound
        return round <= self.blocks.count ? self.blocks[round - 1] : last
    }
}
