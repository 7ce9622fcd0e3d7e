package import Vocabulary

/// All values sealed by the vault for one wallet.
package struct SealedValues: Hashable, Sendable {
    package var identity: Sealed
    /// The shares and the deletion code; nil if the wallet has ended, because they are then destroyed.
    package var shares: Shares?

    package struct Shares: Hashable, Sendable {
        package var unlock: Sealed
        package var presence: Sealed
        /// The sealed deletion code, or nil if the wallet has none.
        package var deletionCode: Sealed?
        package var next: NextShares

        package init(unlock: Sealed, presence: Sealed, deletionCode: Sealed?, next: NextShares = NextShares()) {
            self.unlock = unlock
            self.presence = presence
            self.deletionCode = deletionCode
            self.next = next
        }
    }

    package init(identity: Sealed, shares: Shares?) {
        self.identity = identity
        self.shares = shares
    }
}

/// A wallet and its sealed values.
package struct SealedWallet: Hashable, Sendable {
    /// The wallet's position in order of registration.
    package var cursor: UInt64
    package var walletID: WalletID
    package var values: SealedValues
}

/// Sealed values to replace others of the same length.
package struct SealedReplacement: Hashable, Sendable {
    package var walletID: WalletID
    package var old: SealedValues
    package var new: SealedValues

    package init(walletID: WalletID, old: SealedValues, new: SealedValues) {
        self.walletID = walletID
        self.old = old
        self.new = new
    }
}
