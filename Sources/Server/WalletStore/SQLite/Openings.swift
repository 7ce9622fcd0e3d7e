internal import Synchronization
import Vocabulary

/// The data of sessions that are being opened, so that most of them need one step instead of two.
///
/// The read that precedes the verification of a proof leaves it here, and the session takes it without the store's
/// thread.
///
/// Invariant (G7): an entry is removed by the statement that changes its wallet's row or attempts, or the solution,
/// before the commit (``KnownWallets/attach(to:)``). So a session that finds an entry precedes any revocation of the
/// wallet: its connection has joined the wallet and will be aborted (`ConnectionRegistry`). Entries come from committed
/// data only, so none discloses a verdict that is not durable (G4).
final class Openings: Sendable {
    /// The capacity, above the number of handshakes that are usually in progress; a full table is emptied.
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
