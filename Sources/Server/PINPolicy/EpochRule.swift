public import Vocabulary

/// What a restore costs every wallet, because nobody knows any more what was guessed since the backup.
///
/// A restore opens an epoch, and the operator says under which rule. It is applied when the wallet's next PIN is judged,
/// and once: what follows counts on from there, and a valid PIN ends it like everything that is counted.
public enum EpochRule: String, Hashable, Sendable, CaseIterable {
    /// The wallet is in its last round: n := max(n, (R−1)·A).
    case strict
    /// One wrong PIN more than the backup has, though never the one that blocks for good.
    case chargeOne = "charge-one"
    /// Nothing: the backup is the last state that there was.
    case trust
}

extension AttemptRecord {
    /// Counts what restores cost, in the order in which they were done.
    ///
    /// Invariant (G3): never fewer failures than before, and never the last one: whether a wallet is blocked for good is
    /// for its PINs to decide, and stays what it was. A running block keeps its end.
    public mutating func enter(_ rules: some Sequence<EpochRule>, policy: AttemptPolicy) {
        guard !self.isBlockedPermanently else { return }
        for rule in rules {
            let least: Int =
                switch rule {
                case .strict: policy.allowance - policy.attemptsPerRound
                case .chargeOne: min(self.failures + 1, policy.allowance - 1)
                case .trust: 0
                }
            self.failures = min(max(self.failures, least), Self.mostFailures)
        }
    }
}
