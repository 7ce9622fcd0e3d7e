internal import GRDB
import PINPolicy
internal import PreparedSQL
internal import Synchronization
import Vocabulary

/// The data for sessions that are being opened, so that most sessions need one step instead of two.
///
/// The read before a proof is verified stores the data here. The session then takes it without using the store's
/// thread.
///
/// Invariant (G7): any statement that changes a wallet's row or attempts, or the solution, removes the entry before the
/// commit (``KnownWallets/attach(to:)``), and so does a new version of the vault's keys. A session that finds an entry
/// therefore precedes any revocation of the wallet. Its connection has then joined the wallet and will be aborted
/// (`ConnectionRegistry`). Entries contain only committed data, so they never disclose a verdict that is not durable
/// (G4).
final class Openings: Sendable {
    /// The capacity, more than the number of handshakes usually in progress.
    ///
    /// A full table is emptied.
    private static let most = 1024

    private let openings = Mutex<[WalletID: Opening]>([:])

    func note(_ opening: Opening, of wallet: WalletID) {
        self.openings.withLock { openings in
            if openings.count >= Self.most { openings.removeAll(keepingCapacity: true) }
            openings[wallet] = opening
        }
    }

    /// Begins a session that changes nothing; returns nil if the store must begin it.
    func begin(_ session: NewSession) -> SessionOutcome? {
        guard let opening = self.openings.withLock({ $0.removeValue(forKey: session.walletID) }) else { return nil }
        return (try? opening.begin(session))?.outcomeWithoutChange
    }

    func forget(_ wallet: WalletID) {
        self.openings.withLock { $0[wallet] = nil }
    }

    func forgetAll() {
        self.openings.withLock { $0.removeAll(keepingCapacity: true) }
    }
}

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
