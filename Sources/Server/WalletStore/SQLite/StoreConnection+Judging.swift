internal import GRDB
import PINPolicy
internal import PreparedSQL
internal import Secrets
import Vocabulary

/// The step on which G3 and G4 rest.
///
/// A write must not distinguish a right PIN from a wrong one by its kind, its number of pages or its width.
/// Otherwise a disk filled to the last page would judge PINs for free:
///
/// - The attempt record is written with the same width after every judged attempt, and always differs from its
///   predecessor (``KeptAttempts``). Its row exists from the registration to the wallet's removal.
/// - An instruction that writes the wallet's row (a new PIN key, a link) writes it after every judged attempt, with new
///   values or the old ones, in place, with its number of writes changed (``WalletState``). No written column is
///   indexed, and a row fits into one page.
/// - The first judged attempt after a restore also writes the wallet's row, with the store's epoch, for every verdict.
/// - An instruction that only reads (a share, the deletion code) writes nothing in either case.
///
/// All writes are in one transaction with the rest of the batch, and no answer leaves before that is synced.
extension StoreConnection {
    /// Judges an attempt and adds its verdict to the receipts of this transaction.
    func certify(_ attempt: Attempt) throws -> JudgedStep {
        var leaf: AttemptLeaf?
        let outcome = try self.judge(attempt, stating: &leaf)
        guard let leaf, let batch = self.receipts else { return JudgedStep(outcome: outcome) }
        return JudgedStep(outcome: outcome, leaf: (batch, batch.add(leaf, at: attempt.now)))
    }

    /// An outcome, with the place of its verdict among the receipts.
    struct JudgedStep: Sendable {
        var outcome: AttemptOutcome
        /// Nil without a verdict, or if the store issues no receipts.
        var leaf: (batch: ReceiptBatch, place: Int)?
    }

    private func judge(_ attempt: Attempt, stating leaf: inout AttemptLeaf?) throws -> AttemptOutcome {
        guard var found = try self.attempted(attempt.walletID) else { throw StoreError.corrupt }
        if let revocation = self.revocation(of: found.row.state) { return .revoked(revocation) }
        guard attempt.namedKeyID == found.row.pinKeyID else { return .pinKeyChanged(current: found.row.pinKeyID) }
        guard attempt.identity.hasSameBytes(as: found.row.identity) else {
            return .identityChanged(found.row.identity)
        }
        let isBehind = try self.enterEpoch(&found, policy: attempt.policy)
        let before = found.attempts.record
        var isJudged = false
        let verdict = found.attempts.record.judge(attempt.attemptID, policy: attempt.policy, now: attempt.now) {
            isJudged = true
            return constantTimeEqual(attempt.candidate.bytes, attempt.pinKey.bytes)
        }
        if isJudged { found.attempts.number &+= 1 }
        leaf = self.leaf(of: attempt, isJudged ? verdict : nil, before: before, after: found.attempts)
        if isJudged || found.attempts.record != before {
            try self.keep(found, of: attempt.walletID)
            if isBehind { try self.nameEpoch(of: attempt.walletID) }
        }
        guard isJudged else { return .notValid(verdict) }
        switch attempt.effect {
        case .releaseShare:
            // Read for every verdict: a damaged row must not leave a right PIN uncounted and a wrong one counted.
            let next = try self.nextShares(of: found.row.key).unlock
            return verdict == .valid ? .valid(.unlockShare(found.row.unlockShare, next: next)) : .notValid(verdict)
        case .readDeletionCode:
            guard let wallet = try self.wallet(attempt.walletID) else { throw StoreError.corrupt }
            let code = wallet.deletionCode
            return verdict == .valid ? .valid(.deletionCode(code.isEmpty ? nil : code)) : .notValid(verdict)
        case .replacePINKey, .linkRecoveryCode:
            return try self.writeEffect(of: attempt, verdict: verdict)
        }
    }

    /// The facts for a receipt; those of a right PIN are the ones that it ended.
    private func leaf(
        of attempt: Attempt,
        _ verdict: PINVerdict?,
        before: AttemptRecord,
        after: KeptAttempts
    ) -> AttemptLeaf? {
        guard self.receipts != nil else { return nil }
        let outcome: AttemptLeaf.Outcome =
            switch verdict {
            case .some(.valid): .right
            case .some: .wrong
            case .none: .notJudged
            }
        let record = outcome == .right ? before : after.record
        return AttemptLeaf(
            outcome: outcome,
            wrongPINs: record.wrongPINs,
            walletID: attempt.walletID,
            attemptID: attempt.attemptID,
            number: after.number,
            lastWrong: record.lastWrong
        )
    }

    /// Writes the wallet's row for every verdict, and the effect only for a valid PIN.
    private func writeEffect(of attempt: Attempt, verdict: PINVerdict) throws -> AttemptOutcome {
        guard var row = try self.wallet(attempt.walletID) else { throw StoreError.corrupt }
        let outcome = verdict == .valid ? try self.apply(attempt, to: &row) : .notValid(verdict)
        try self.keep(row)
        return outcome
    }

    private func apply(_ attempt: Attempt, to row: inout WalletRow) throws -> AttemptOutcome {
        switch attempt.effect {
        case .replacePINKey(let identity, let newKeyID):
            row.identity = identity
            row.pinKeyID = newKeyID
            return .valid(.pinKeyReplaced)
        case .linkRecoveryCode(let mac):
            return try self.link(attempt.walletID, to: mac, &row)
        case .releaseShare, .readDeletionCode:
            preconditionFailure("these write nothing")
        }
    }

    /// Links a wallet and checks the deny list in the same step, so that no link to a denied code escapes in either
    /// order.
    private func link(_ wallet: WalletID, to mac: [UInt8], _ row: inout WalletRow) throws -> AttemptOutcome {
        precondition(mac.count == WalletRow.recoveryMACByteCount, "a recovery code's MAC has 32 bytes")
        if row.state.isLinked { return .valid(row.recoveryMAC == mac ? .recoveryCodeLinked : .linkedToAnother) }
        if try self.isDenied(mac) { return .valid(.codeDenied) }
        row.state.isLinked = true
        row.recoveryMAC = mac
        for search in self.linkedDuring.keys { self.linkedDuring[search]?.insert(wallet) }
        return .valid(.recoveryCodeLinked)
    }

    private func isDenied(_ mac: [UInt8]) throws -> Bool {
        let statement = self.statements.isDenied
        statement.bind(mac, at: 1)
        return try statement.first { _ in true } != nil
    }
}
