import PINPolicy
import Vocabulary

/// The data on which the opening of a session depends.
struct Opening: Sendable {
    let row: WalletRow
    /// Nil if the wallet's attempts are damaged.
    var judged: StoreConnection.Attempted?
    let revocation: Revocation?
    var nextPresenceShare: Sealed?

    /// The outcome of a session, with the rows that it changes.
    struct Session {
        let outcome: SessionOutcome
        var newRow: WalletRow?
        var newAttempts: StoreConnection.Attempted?

        /// Nil if the session changes a row.
        var outcomeWithoutChange: SessionOutcome? {
            self.newRow == nil && self.newAttempts == nil ? self.outcome : nil
        }
    }

    /// Returns the session that a proof against this data begins.
    func begin(_ session: NewSession) throws -> Session {
        guard self.row.identity == session.identity else { return Session(outcome: .identityChanged) }
        guard Self.follows(session.assertionCounter, self.row.state.assertionCounter) else {
            return Session(outcome: .counterNotIncreased)
        }
        var newRow: WalletRow?
        if !self.row.state.sessionOpened || session.assertionCounter != nil {
            var row = self.row
            row.state.sessionOpened = true
            row.state.assertionCounter = session.assertionCounter ?? row.state.assertionCounter
            newRow = row
        }
        if let revocation = self.revocation { return Session(outcome: .revoked(revocation), newRow: newRow) }
        guard var judged = self.judged else { throw StoreError.corrupt }
        let isCorrected = judged.attempts.record.holdBlockToItsLength(now: session.now)
        let pinState = judged.attempts.record.state(policy: session.policy, now: session.now)
        let isReleased = pinState != .blockedPermanently
        return Session(
            outcome: .active(
                pinKeyID: self.row.pinKeyID,
                pinState: pinState,
                presenceShare: isReleased ? self.row.presenceShare : nil,
                nextPresenceShare: isReleased ? self.nextPresenceShare : nil
            ),
            newRow: newRow,
            newAttempts: isCorrected ? judged : nil
        )
    }

    /// Returns whether a proof's counter is greater than the stored one.
    ///
    /// A wallet's form of proof never changes, so omitting the counter does not bypass the check.
    static func follows(_ counter: UInt32?, _ stored: UInt32?) -> Bool {
        switch (counter, stored) {
        case (nil, nil): return true
        case (let counter?, let stored?): return counter > stored
        case (nil, _?), (_?, nil): return false
        }
    }
}
