import PINPolicy
import Vocabulary

/// The data needed to open a session.
struct Opening: Sendable {
    let row: WalletRow
    /// The wallet's attempts, or nil if damaged.
    var judged: StoreConnection.Attempted?
    let revocation: Revocation?
    var nextPresenceShare: Sealed?
    let receiptVersion: UInt32?
    /// The store's epoch.
    let epoch: UInt32

    /// The outcome of a session and the rows that it changes.
    struct Session {
        let outcome: SessionOutcome
        var newRow: WalletRow?
        var newAttempts: StoreConnection.Attempted?

        /// The outcome, or nil if the session changes any row.
        var outcomeWithoutChange: SessionOutcome? {
            self.newRow == nil && self.newAttempts == nil ? self.outcome : nil
        }
    }

    /// Returns the session that results if a proof was verified against this data.
    func begin(_ session: NewSession) throws -> Session {
        var row = self.row
        let admission = row.admit(session)
        if case .rejected(let outcome) = admission { return Session(outcome: outcome) }
        let newRow = admission == .changed ? row : nil
        if let revocation = self.revocation { return Session(outcome: .revoked(revocation), newRow: newRow) }
        guard var judged = self.judged else { throw StoreError.corrupt }
        let isCorrected = judged.attempts.record.holdBlockToItsLength(now: session.now)
        return Session(
            outcome: self.row.answer(
                to: session,
                attempts: judged.attempts,
                epoch: UInt64(self.epoch),
                receiptVersion: self.receiptVersion
            ) { self.nextPresenceShare },
            newRow: newRow,
            newAttempts: isCorrected ? judged : nil
        )
    }
}
