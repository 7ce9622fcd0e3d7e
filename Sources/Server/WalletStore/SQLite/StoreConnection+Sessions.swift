internal import GRDB
internal import PreparedSQL
import Vocabulary

/// Opens a session: a read provides the data to verify the proof, then the session itself begins.
extension StoreConnection {
    /// Returns the data needed to verify a proof, and keeps the rest for the session (``Openings``).
    func identity(of wallet: WalletID) throws -> StoredIdentity? {
        guard let opening = try self.opening(of: wallet) else { return nil }
        let isPlain = opening.row.state.epoch == self.epoch && !self.hasNextShares
        if isPlain, !self.db.isInsideTransaction { self.known.openings.note(opening, of: wallet) }
        return StoredIdentity(
            identity: opening.row.identity,
            mayRegisterAgain: opening.row.state.revocation == nil && !opening.row.state.sessionOpened
        )
    }

    func beginSession(_ session: NewSession) throws -> SessionOutcome {
        let (begun, isBehind) = try self.findSession(session)
        if let attempts = begun.newAttempts {
            try self.keep(attempts, of: session.walletID)
            if isBehind { try self.nameEpoch(of: session.walletID) }
        }
        // The new row comes last: it makes ``KnownWallets`` forget the old one, which the attempts were kept with.
        if let row = begun.newRow { try self.keep(row) }
        return begun.outcome
    }

    /// Returns the outcome of a session that changes nothing, as most do, or nil if it must begin in a transaction.
    func sessionWithoutChange(_ session: NewSession) throws -> SessionOutcome? {
        guard session.assertionCounter == nil else { return nil }
        return try self.findSession(session).begun.outcomeWithoutChange
    }

    private func findSession(_ session: NewSession) throws -> (begun: Opening.Session, isBehind: Bool) {
        guard var opening = try self.opening(of: session.walletID) else {
            return (Opening.Session(outcome: .identityChanged), false)
        }
        opening.nextPresenceShare = try self.nextShares(of: opening.row.key).presence
        var isBehind = false
        if var judged = opening.judged {
            isBehind = try self.enterEpoch(&judged, policy: session.policy)
            opening.judged = judged
        }
        return (try opening.begin(session), isBehind)
    }

    /// Reads a wallet and its attempts.
    ///
    /// Damaged attempts affect the session but not the proof.
    private func opening(of wallet: WalletID) throws -> Opening? {
        let statement = self.statements.opening
        statement.bind(wallet.bytes, at: 1)
        return try statement.first { found in
            let row = try WalletRow(found)
            let onFile = found.bytes(WalletRow.columnCount) ?? []
            let attempts = KeptAttempts(decoding: onFile, of: wallet, by: self.key)
            return Opening(
                row: row,
                judged: attempts.map { Attempted(row: JudgedRow(row), attempts: $0, onFile: onFile) },
                revocation: self.revocation(of: row.state),
                receiptVersion: self.receiptVersion,
                epoch: self.epoch
            )
        }
    }
}
