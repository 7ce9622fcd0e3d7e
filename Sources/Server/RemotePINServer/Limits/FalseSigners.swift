internal import Synchronization
internal import Vocabulary

/// The wallets that recently sent a false signature with a disclosed R, and whose signatures are therefore verified
/// separately.
///
/// Threat: a false signature makes the server verify its whole batch again. A wallet can cause this only once an hour.
final class FalseSigners: Sendable {
    /// The time for which a wallet's signatures are verified separately.
    static let time: Duration = .seconds(3600)
    /// The maximum number of remembered wallets, each of which needed a registered phone.
    static let most = 10_000

    private let ends = Mutex<[WalletID: Timestamp]>([:])

    /// Records a false signature.
    func note(_ wallet: WalletID, at now: Timestamp) {
        self.ends.withLock { ends in
            if ends.count >= Self.most {
                ends = ends.filter { $0.value > now }
                if ends.count >= Self.most, let other = ends.keys.first { ends[other] = nil }
            }
            ends[wallet] = now + Self.time
        }
    }

    /// Returns whether a wallet's signatures must be verified separately.
    func contains(_ wallet: WalletID, at now: Timestamp) -> Bool {
        self.ends.withLock { ends in
            guard let end = ends[wallet] else { return false }
            if end <= now { ends[wallet] = nil }
            return end > now
        }
    }
}
