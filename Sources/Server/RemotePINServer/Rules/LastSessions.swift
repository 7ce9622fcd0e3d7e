internal import Synchronization
internal import Vocabulary

/// When wallets had their last sessions, until the store is told; for operators only.
///
/// A write for each session would cost every unlock a commit. What a crash loses are the last seconds.
final class LastSessions: Sendable {
    /// Wallets remembered; further ones are not, which only leaves an older time on file.
    private static let capacity = 100_000

    private let waiting = Mutex<[WalletID: Timestamp]>([:])

    /// A session began.
    func note(_ wallet: WalletID, at now: Timestamp) {
        self.waiting.withLock { waiting in
            guard waiting.count < Self.capacity || waiting[wallet] != nil else { return }
            waiting[wallet] = max(now, waiting[wallet] ?? now)
        }
    }

    /// The last session that the store was not told of yet.
    func last(of wallet: WalletID) -> Timestamp? { self.waiting.withLock { $0[wallet] } }

    /// Takes what waits, to tell the store.
    func take() -> [WalletID: Timestamp] {
        self.waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting
        }
    }

    /// Puts back what the store did not take.
    func putBack(_ sessions: [WalletID: Timestamp]) {
        for (wallet, time) in sessions { self.note(wallet, at: time) }
    }
}
