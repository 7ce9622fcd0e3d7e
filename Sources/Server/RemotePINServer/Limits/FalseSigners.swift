internal import Synchronization
internal import Vocabulary

/// The wallets that recently sent a false signature with a disclosed R.
///
/// Their signatures are verified separately.
///
/// Threat: a false signature makes the server verify the whole batch again. A wallet can only cause this once an hour.
final class FalseSigners: Sendable {
    /// The period during which a wallet's signatures are verified separately.
    static let time: Duration = .seconds(3600)
    /// The maximum number of wallets to remember.
    ///
    /// Each of them required a registered phone.
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
