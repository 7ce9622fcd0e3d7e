package import Vocabulary

/// The attempts that a restore charges to every wallet, because guesses made after the backup are unknown.
///
/// A restore opens an epoch under a rule chosen by the operator. The rule is applied once, when the wallet's next PIN
/// is judged. Counting continues from there, and a valid PIN resets it, like any other count.
package enum EpochRule: String, Hashable, Sendable, CaseIterable {
    /// Moves the wallet to its last round: n := max(n, (R−1)·A).
    case strict
    /// Adds one wrong PIN to the count from the backup.
    ///
    /// This may cause a block, but never a permanent one.
    case chargeOne = "charge-one"
    /// Charges nothing, assuming that no attempt was made after the backup.
    case trust
}

/// The charge made by a restore.
package struct EpochCharge: Hashable, Sendable {
    package var rule: EpochRule
    /// The time at which the epoch was opened.
    package var openedAt: Timestamp

    package init(_ rule: EpochRule, openedAt: Timestamp) {
        self.rule = rule
        self.openedAt = openedAt
    }
}

extension AttemptRecord {
    /// Applies restore charges, in the order the restores happened.
    ///
    /// Invariant (G3): the number of failures never decreases and never reaches the allowance, because only PINs may
    /// permanently block a wallet. A permanent block is preserved. A running block keeps its end unless a charge starts
    /// one that ends later.
    package mutating func enter(_ charges: some Sequence<EpochCharge>, policy: AttemptPolicy) {
        guard !self.isBlockedPermanently else { return }
        for charge in charges {
            switch charge.rule {
            case .strict:
                self.failures = min(max(self.failures, policy.allowance - policy.attemptsPerRound), Self.mostFailures)
            case .chargeOne: self.chargeOne(at: charge.openedAt, policy: policy)
            case .trust: break
            }
        }
    }

    /// Counts a wrong PIN that may have been entered between the backup and the restore.
    ///
    /// The block that it would have caused also starts, so that the wait at the end of a round cannot be skipped.
    private mutating func chargeOne(at openedAt: Timestamp, policy: AttemptPolicy) {
        guard self.failures + 1 < policy.allowance else { return }
        self.failures = min(self.failures + 1, Self.mostFailures)
        guard let block = Block(of: policy.block(after: self.failures), from: openedAt) else { return }
        if self.block.map({ $0.end < block.end }) ?? true { self.block = block }
    }
}
