internal import Synchronization
internal import Vocabulary

/// The wallets that recently sent a false signature with a disclosed R, whose signatures are verified alone.
///
/// Threat: a false signature makes the server verify its whole batch again. A wallet can cause this
/// once in an hour.
final class FalseSigners: Sendable {
    /// The time for which a wallet's signatures are verified alone.
    static let time: Duration = .seconds(3600)
    /// The number of remembered wallets; each needed a registered phone.
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

    /// Whether a wallet's signatures are to be verified alone.
    func contains(_ wallet: WalletID, at now: Timestamp) -> Bool {
        self.ends.withLock { ends in
            guard let end = ends[wallet] else { return false }
            if end <= now { ends[wallet] = nil }
            return end > now
        }
    }
}
