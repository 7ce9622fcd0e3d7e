package import Vocabulary

/// The number of a wallet's row.
///
/// Numbers are assigned in ascending order, so that an insertion never splits an SQLite page. A split would leave
/// copies of other wallets' sealed shares in the page.
package struct WalletKey: Hashable, Sendable {
    package let number: Int64

    package init(number: Int64) {
        self.number = number
    }
}

/// A wallet's stored row, without its attempts and attested facts.
package struct WalletRow: Hashable, Sendable {
    package let key: WalletKey
    package var state: WalletState
    package var pinKeyID: PINKeyID
    package var unlockShare: Sealed
    package var identity: Sealed
    package var presenceShare: Sealed
    /// The sealed deletion code, empty if the wallet has none.
    package var deletionCode: Sealed
    /// The MAC of the linked recovery code, all zeros if the wallet is not linked.
    package var recoveryMAC: [UInt8]
    package var hardwareKey: SHA256Digest

    package static let recoveryMACByteCount = 32

    package init(
        key: WalletKey,
        state: WalletState,
        pinKeyID: PINKeyID,
        unlockShare: Sealed,
        identity: Sealed,
        presenceShare: Sealed,
        deletionCode: Sealed,
        recoveryMAC: [UInt8],
        hardwareKey: SHA256Digest
    ) {
        self.key = key
        self.state = state
        self.pinKeyID = pinKeyID
        self.unlockShare = unlockShare
        self.identity = identity
        self.presenceShare = presenceShare
        self.deletionCode = deletionCode
        self.recoveryMAC = recoveryMAC
        self.hardwareKey = hardwareKey
    }

    /// Permanently ends the wallet and overwrites both shares and the deletion code in full.
    package mutating func revoke(_ revocation: Revocation, at now: Timestamp) {
        self.state.revocation = revocation
        self.state.revokedAt = now
        self.unlockShare = [UInt8](repeating: 0, count: self.unlockShare.count)
        self.presenceShare = [UInt8](repeating: 0, count: self.presenceShare.count)
        self.deletionCode = [UInt8](repeating: 0, count: self.deletionCode.count)
    }
}

extension WalletRow {
    /// Returns the values sealed by the vault.
    package func sealedValues(with next: NextShares) -> SealedValues {
        SealedValues(
            identity: self.identity,
            shares: self.state.revocation != nil
                ? nil
                : SealedValues.Shares(
                    unlock: self.unlockShare,
                    presence: self.presenceShare,
                    deletionCode: self.deletionCode.isEmpty ? nil : self.deletionCode,
                    next: next
                )
        )
    }

    /// Replaces the sealed values.
    ///
    /// Returns false if the new values do not have the same lengths.
    package mutating func take(_ values: SealedValues) -> Bool {
        guard values.identity.count == self.identity.count, (values.shares == nil) == (self.state.revocation != nil)
        else { return false }
        if let shares = values.shares {
            guard shares.unlock.count == self.unlockShare.count, shares.presence.count == self.presenceShare.count,
                shares.deletionCode?.count ?? 0 == self.deletionCode.count
            else { return false }
            self.unlockShare = shares.unlock
            self.presenceShare = shares.presence
            self.deletionCode = shares.deletionCode ?? []
        }
        self.identity = values.identity
        return true
    }
}
