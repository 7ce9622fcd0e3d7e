package import Secrets
package import Vocabulary

/// The server's keys, from which the keys of wallets are derived, and which make MACs.
///
/// Each sealed value is bound to its field and wallet by the associated data (field name ‖ 0x00 ‖ wallet id), so an
/// attacker with write access to the database cannot swap in a value from another wallet or field.
package protocol Vault: Sendable {
    /// Derives the keys of a wallet: that of the active version, and those that opening these values requires.
    ///
    /// A version that the vault does not have is left out.
    ///
    /// - Throws: ``VaultError/unreachable`` only.
    func keys(of wallet: WalletID, opening sealed: [[UInt8]]) async throws(VaultError) -> WalletKeys

    /// Seals a wallet's identity with the active version, in the format of ``WalletKeys/seal(_:as:)``.
    func sealIdentity(_ identity: borrowing SecretBytes, of wallet: WalletID) -> [UInt8]

    /// Opens an identity, using the version that it names.
    ///
    /// - Throws: ``VaultError/notOurs`` only.
    func openIdentity(_ sealed: [UInt8], of wallet: WalletID) throws(VaultError) -> SecretBytes

    /// Returns a MAC of `message` under the key for `use`.
    ///
    /// It stays the same for as long as the key is in use. The MAC is 32 bytes long, except for the audit log and
    /// epochs, where it has the format of ``VersionedMAC``.
    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8]

    /// Returns whether `mac` is a MAC of `message` for `use`, made with the current key or one that is still accepted.
    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool
}

extension Vault {
    /// Opens a value of any field with the keys of its wallet.
    package func open(
        _ sealed: [UInt8],
        as field: VaultField,
        with keys: WalletKeys
    ) throws(VaultError) -> SecretBytes {
        guard field == .identity else { return try keys.open(sealed, as: field) }
        return try self.openIdentity(sealed, of: keys.wallet)
    }
}

/// The fields that are sealed.
///
/// The name is part of the associated data and must never change.
package enum VaultField: String, Sendable, CaseIterable {
    case identity
    case unlockShare = "unlock-share"
    case presenceShare = "presence-share"
    case deletionCode = "deletion-code"
}

/// The uses of MACs.
///
/// Each use has its own key.
package enum MACUse: String, Sendable, CaseIterable {
    /// Enrollment tokens.
    case enrollmentToken = "enrollment-token"
    /// The lookup of recovery codes.
    ///
    /// This key is never rotated.
    case recoveryCodeIndex = "recovery-code-index"
    /// Audit log entries.
    ///
    /// Older versions of this key only verify.
    case auditLog = "audit-log"
    /// Epoch records, each of which continues its predecessor.
    ///
    /// Older versions of this key only verify.
    case storeEpoch = "store-epoch"
    /// Backup labels.
    ///
    /// This key is never rotated, because a backup may be restored after any number of rotations.
    case backup
    /// Derives the key for the MACs of attempt records.
    ///
    /// It is never rotated, because backups contain these records too.
    case attemptRecords = "attempt-records"
}

/// The reason the vault returned no result.
package enum VaultError: Error, Hashable, Sendable {
    /// The value was altered or belongs to another field or wallet, or it is an identity whose key is not in the vault.
    ///
    /// Refuse the call and alert the operator.
    case notOurs
    /// The keys of the wallet lack the version that sealed the value, or they have been wiped.
    ///
    /// Close the connection without an answer. The wallet's next session has the keys of all its values, unless the
    /// value names a version that the vault does not have.
    case noKey
    /// The vault cannot be reached right now.
    ///
    /// Answer `unavailable`.
    case unreachable
}
