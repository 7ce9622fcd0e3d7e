package import Vocabulary

/// The sealed shares that will replace a wallet's current ones.
///
/// Each is nil if it does not exist or has been confirmed.
package struct NextShares: Hashable, Sendable {
    package var unlock: Sealed?
    package var presence: Sealed?

    package init(unlock: Sealed? = nil, presence: Sealed? = nil) {
        self.unlock = unlock
        self.presence = presence
    }

    var isEmpty: Bool { self.unlock == nil && self.presence == nil }
}

/// A wallet whose shares are replaced by a refresh.
package struct RefreshableWallet: Hashable, Sendable {
    /// The wallet's position in order of registration.
    package var cursor: UInt64
    package var walletID: WalletID
    /// Whether the wallet has ended, in which case its shares are destroyed.
    package var hasEnded: Bool

    package init(cursor: UInt64, walletID: WalletID, hasEnded: Bool) {
        self.cursor = cursor
        self.walletID = walletID
        self.hasEnded = hasEnded
    }
}

/// The next shares of a wallet that a refresh has reached.
package struct OfferedShares: Hashable, Sendable {
    /// The wallet's position in order of registration.
    package var cursor: UInt64
    package var walletID: WalletID
    /// The next shares, or nil if the wallet has ended.
    package var next: NextShares?

    package init(cursor: UInt64, walletID: WalletID, next: NextShares?) {
        self.cursor = cursor
        self.walletID = walletID
        self.next = next
    }
}
