package import Secrets
package import Vocabulary

/// The server's keys, used for sealing and for MACs.
///
/// Each sealed value is bound to its field and wallet by the associated data (field name ‖ 0x00 ‖ wallet id), so an
/// attacker with write access to the database cannot swap in a value from another wallet or field.
package protocol Vault: Sendable {
    /// Seals a value with the active key version, in the format key id ‖ nonce ‖ ciphertext ‖ tag.
    ///
    /// Values of equal length have sealed forms of equal length.
    func seal(_ secret: borrowing SecretBytes, as field: VaultField, of wallet: WalletID) async throws(VaultError)
        -> [UInt8]

    /// Opens a value sealed with ``seal(_:as:of:)``, using the key version that it names.
    func unseal(_ sealed: [UInt8], as field: VaultField, of wallet: WalletID) async throws(VaultError) -> SecretBytes

    /// Returns a MAC of `message` under the key for `use`.
    ///
    /// It stays the same for as long as the key is in use. The MAC is 32 bytes long, except for the audit log and
    /// epochs, where it has the format of ``VersionedMAC``.
    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8]

    /// Returns whether `mac` is a MAC of `message` for `use`, made with the current key or one that is still accepted.
    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool
}

extension Vault {
    /// Returns whether a value can be opened.
    ///
    /// The secret itself is discarded.
    ///
    /// - Throws: ``VaultError/unreachable`` if the vault does not answer.
    package func opens(_ sealed: [UInt8], as field: VaultField, of wallet: WalletID) async throws(VaultError) -> Bool {
        do throws(VaultError) {
            _ = try await self.unseal(sealed, as: field, of: wallet)
            return true
        } catch .notOurs {
            return false
        }
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
    /// The value was altered, belongs to another field or wallet, or its key is not in the vault.
    ///
    /// Refuse the call and alert the operator.
    case notOurs
    /// The vault cannot be reached right now.
    ///
    /// Answer `unavailable`.
    case unreachable
}
