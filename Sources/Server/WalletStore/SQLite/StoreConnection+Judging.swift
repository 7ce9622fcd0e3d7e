import PINPolicy
internal import PreparedSQL
import Vocabulary

/// The step that G3 and G4 depend on.
///
/// The writes for a right PIN and a wrong one must not differ in kind, number of pages or width. Otherwise, PINs could
/// be tried for free on a disk that is full to the last page:
///
/// - The attempt record is written with the same width after every judged attempt, and always differs from its
///   predecessor (``KeptAttempts``). Its row exists from registration until the wallet is removed.
/// - An instruction that writes the wallet's row (a new PIN key or a link) writes it in place after every judged
///   attempt, with new or old values and a changed number of writes (``WalletState``). None of the written columns is
///   indexed, and a row fits into one page.
/// - The first judged attempt after a restore also writes the store's epoch to the wallet's row, regardless of the
///   verdict.
/// - An instruction that only reads (a share or the deletion code) writes nothing in either case.
///
/// All writes are in the same transaction as the rest of the batch, and no answer is sent before that transaction is
/// synced.
extension StoreConnection {
    /// Judges an attempt and adds its verdict to this transaction's receipts.
    func step(_ attempt: Attempt) throws -> JudgedStep {
        var leaf: AttemptLeaf?
        let outcome = try self.decide(attempt, stating: &leaf)
        guard let leaf, let batch = self.receipts else { return JudgedStep(outcome: outcome) }
        return JudgedStep(outcome: outcome, leaf: (batch, batch.add(leaf, at: attempt.now)))
    }

    /// An outcome and the position of its verdict among the receipts.
    struct JudgedStep: Sendable {
        var outcome: AttemptOutcome
        /// The position of the verdict, or nil if there is no verdict or the store issues no receipts.
        var leaf: (batch: ReceiptBatch, place: Int)?
    }

    private func decide(_ attempt: Attempt, stating leaf: inout AttemptLeaf?) throws -> AttemptOutcome {
        guard var found = try self.attempted(attempt.walletID) else { throw StoreError.corrupt }
        let rejection = attempt.rejection(
            ended: self.revocation(of: found.row.state),
            pinKeyID: found.row.pinKeyID,
            identity: found.row.identity
        )
        if let rejection { return rejection }
        let isBehind = try self.enterEpoch(&found, policy: attempt.policy)
        let before = found.attempts.record
        let judgment = attempt.judge(&found.attempts)
        let (verdict, isJudged) = (judgment.verdict, judgment.isJudged)
        if self.receipts != nil { leaf = judgment.leaf(of: attempt, after: found.attempts) }
        if isJudged || found.attempts.record != before {
            try self.keep(found, of: attempt.walletID)
            if isBehind { try self.nameEpoch(of: attempt.walletID) }
        }
        guard isJudged else { return .notValid(verdict) }
        switch attempt.effect {
        case .releaseShare:
            // Read this for every verdict. Otherwise, with a damaged row, a wrong PIN would be counted but a right one
            // would not.
            let next = try self.nextShares(of: found.row.key).unlock
            guard verdict == .valid else { return .notValid(verdict, hasNextShare: next != nil) }
            return .valid(.unlockShare(found.row.unlockShare, next: next))
        case .readDeletionCode:
            guard let wallet = try self.wallet(attempt.walletID) else { throw StoreError.corrupt }
            let code = wallet.deletionCode
            return verdict == .valid ? .valid(.deletionCode(code.isEmpty ? nil : code)) : .notValid(verdict)
        case .replacePINKey, .linkRecoveryCode:
            return try self.writeEffect(of: attempt, verdict: verdict)
        }
    }

    /// Writes the wallet's row for every verdict.
    ///
    /// The effect is included only if the PIN is valid.
    private func writeEffect(of attempt: Attempt, verdict: PINVerdict) throws -> AttemptOutcome {
        guard var row = try self.wallet(attempt.walletID) else { throw StoreError.corrupt }
        let outcome = verdict == .valid ? try self.apply(attempt, to: &row) : .notValid(verdict)
        try self.keep(row)
        return outcome
    }

    /// Applies the effect of a right PIN.
    ///
    /// A link checks the deny list in the same step. Whether the link or the denial comes first, no link to a denied
    /// code is missed.
    private func apply(_ attempt: Attempt, to row: inout WalletRow) throws -> AttemptOutcome {
        let outcome = try row.apply(attempt.effect) { try self.isDenied($0) }
        if outcome == .valid(.recoveryCodeLinked) {
            for search in self.linkedDuring.keys { self.linkedDuring[search]?.insert(attempt.walletID) }
        }
        return outcome
    }

    private func isDenied(_ mac: [UInt8]) throws -> Bool {
        let statement = self.statements.isDenied
        statement.bind(mac, at: 1)
        return try statement.first { _ in true } != nil
    }
}
