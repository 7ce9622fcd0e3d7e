import PINPolicy
internal import SQLiteClient
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
        guard var opening = self.openings.withLock({ $0.removeValue(forKey: session.walletID) }) else { return nil }
        return (try? opening.wallet.begin(session, opening.facts))?.outcomeWithoutChange
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
    var wallet: StoredWallet
    let facts: StoreFacts
}

/// Opens a session: a read provides the data to verify the proof, then the session itself begins.
extension StoreConnection {
    /// Returns the data needed to verify a proof, and keeps the rest for the session (``Openings``).
    func identity(of wallet: WalletID) throws -> StoredIdentity? {
        // Damaged attempts affect the session but not the proof.
        guard let held = try self.hold(wallet, with: .attempts) else { return nil }
        let row = held.wallet.row
        let isPlain = row.state.epoch == self.facts.epoch && !self.hasNextShares
        let opening = Opening(wallet: held.wallet, facts: self.facts)
        if isPlain, !self.db.isInTransaction { self.known.openings.note(opening, of: wallet) }
        return StoredIdentity(held.wallet, self.facts)
    }

    func beginSession(_ session: NewSession) throws -> SessionOutcome {
        let (begun, held) = try self.findSession(session)
        if let held { try self.keep(held, begun.changed) }
        return begun.outcome
    }

    /// Returns the outcome of a session that changes nothing, as most do, or nil if it must begin in a transaction.
    func sessionWithoutChange(_ session: NewSession) throws -> SessionOutcome? {
        guard session.assertionCounter == nil else { return nil }
        return try self.findSession(session).begun.outcomeWithoutChange
    }

    /// Returns the session and the wallet that it leaves, which is nil if the store does not have it.
    private func findSession(_ session: NewSession) throws -> (begun: BegunSession, held: HeldRow?) {
        guard var held = try self.hold(session.walletID, with: [.attempts, .nextShares]) else {
            return (.ofUnknownWallet, nil)
        }
        return (try held.wallet.begin(session, self.facts), held)
    }
}

extension BegunSession {
    /// The outcome, or nil if the session changes the wallet.
    fileprivate var outcomeWithoutChange: SessionOutcome? {
        // rule: store-session-not-stored
        self.changed.isEmpty ? self.outcome : nil
    }
}
