internal import Vocabulary

/// Counts and judges an attempt, and writes its effect in one commit with the deny list.
///
/// The row is written for every judged attempt, so that a full disk does not reveal whether a PIN was right.
///
/// Invariant (G7): whether a link or the denial of its code comes first, no link to a denied code is missed.
package struct WritingAttempt: StoreStep {
    let attempt: Attempt
    package static let access = StepAccess.writing

    package init(_ attempt: Attempt) { self.attempt = attempt }

    package func run(in rows: some Rows) throws -> StoredWallet.JudgedAttempt {
        // rule: postgresql-link-not-ordered
        if case .linkRecoveryCode(let mac) = self.attempt.effect { try rows.lock(recoveryCode: mac) }
        guard var held = try rows.hold(self.attempt.walletID, with: .attempts) else { throw StoreError.corrupt }
        var judged = try held.wallet.judge(self.attempt, rows.facts)
        if let judgment = judged.judgment, judgment.isJudged {
            judged.outcome = try judgment.apply(self.attempt.effect, to: &held.wallet.row) {
                try rows.denied($0) != nil
            }
            judged.changed.insert(.row)  // rule: store-change-not-kept
        }
        try rows.keep(held, judged.changed)
        return judged
    }
}
