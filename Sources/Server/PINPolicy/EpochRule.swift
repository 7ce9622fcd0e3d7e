package import Vocabulary

/// What a restore costs every wallet, because nobody knows any more what was guessed since the backup.
///
/// A restore opens an epoch, and the operator says under which rule. It is applied when the wallet's next PIN is judged,
/// and once: what follows counts on from there, and a valid PIN ends it like everything that is counted.
package enum EpochRule: String, Hashable, Sendable, CaseIterable {
    /// The wallet is in its last round: n := max(n, (R−1)·A).
    case strict
    /// One wrong PIN more than the backup has, with the block that follows, though never the one that blocks for good.
    case chargeOne = "charge-one"
    /// Nothing: the backup is the last state that there was.
    case trust
}

/// What one restore costs.
package struct EpochCharge: Hashable, Sendable {
    package var rule: EpochRule
    /// When the epoch was opened.
    package var openedAt: Timestamp

    package init(_ rule: EpochRule, openedAt: Timestamp) {
        self.rule = rule
        self.openedAt = openedAt
    }
}

extension AttemptRecord {
    /// Counts what restores cost, in the order in which they were done.
    ///
    /// Invariant (G3): never fewer failures than before, and never the last one: whether a wallet is blocked for good is
    /// for its PINs to decide, and stays what it was. A running block keeps its end, unless a later one begins.
    package mutating func enter(_ charges: some Sequence<EpochCharge>, policy: AttemptPolicy) {
        guard !self.isBlockedPermanently else { return }
        for charge in charges {
            switch charge.rule {
            case .strict:
                self.failures = min(max(self.failures, policy.allowance - policy.attemptsPerRound), Self.mostFailures)
            case .chargeOne:
                self.chargeOne(at: charge.openedAt, policy: policy)
            case .trust:
                break
            }
        }
    }

    /// Counts a wrong PIN that may have been entered between backup and restore, with the block that it would have begun: at
    /// the end of a round nobody goes on without the wait.
    private mutating func chargeOne(at openedAt: Timestamp, policy: AttemptPolicy) {
        guard self.failures + 1 < policy.allowance else { return }
        self.failures = min(self.failures + 1, Self.mostFailures)
        guard let block = Block(of: policy.block(after: self.failures), from: openedAt) else { return }
        if self.block.map({ $0.end < block.end }) ?? true { self.block = block }
    }
}
