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

    /// Begins a session that changes nothing.
    ///
    /// Returns nil if the store must begin it.
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
