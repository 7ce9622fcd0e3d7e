internal import GRDB
import PINPolicy
internal import PreparedSQL
import Vocabulary

/// The step on which G3 and G4 depend.
///
/// The writes must not distinguish a right PIN from a wrong one by their kind, number of pages or width. Otherwise PINs
/// could be judged for free on a disk that is full to the last page:
///
/// - The attempt record is written with the same width after every judged attempt, and always differs from its
///   predecessor (``KeptAttempts``). Its row exists from the registration until the wallet is removed.
/// - An instruction that writes the wallet's row (a new PIN key or a link) writes it in place after every judged
///   attempt, with new or old values and a changed number of writes (``WalletState``). None of the written columns is
///   indexed, and a row fits into one page.
/// - The first judged attempt after a restore also writes the wallet's row with the store's epoch, whatever the verdict
///   is.
/// - An instruction that only reads (a share or the deletion code) writes nothing in either case.
///
/// All writes are in one transaction with the rest of the batch, and no answer leaves before that transaction is
/// synced.
extension StoreConnection {
    /// Judges an attempt and adds its verdict to this transaction's receipts.
    func certify(_ attempt: Attempt) throws -> JudgedStep {
        var leaf: AttemptLeaf?
        let outcome = try self.judge(attempt, stating: &leaf)
        guard let leaf, let batch = self.receipts else { return JudgedStep(outcome: outcome) }
        return JudgedStep(outcome: outcome, leaf: (batch, batch.add(leaf, at: attempt.now)))
    }

    /// An outcome, with the place of its verdict among the receipts.
    struct JudgedStep: Sendable {
        var outcome: AttemptOutcome
        /// The place of the verdict, or nil if there is no verdict or the store issues no receipts.
        var leaf: (batch: ReceiptBatch, place: Int)?
    }

    private func judge(_ attempt: Attempt, stating leaf: inout AttemptLeaf?) throws -> AttemptOutcome {
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
            // Read for every verdict, because a damaged row must not leave a right PIN uncounted while a wrong one is
            // counted.
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

    /// Writes the wallet's row for every verdict, but the effect only for a valid PIN.
    private func writeEffect(of attempt: Attempt, verdict: PINVerdict) throws -> AttemptOutcome {
        guard var row = try self.wallet(attempt.walletID) else { throw StoreError.corrupt }
        let outcome = verdict == .valid ? try self.apply(attempt, to: &row) : .notValid(verdict)
        try self.keep(row)
        return outcome
    }

    /// Applies the effect of a right PIN.
    ///
    /// A link checks the deny list in the same step, so that no link to a denied code escapes, whichever of the two
    /// comes first.
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
