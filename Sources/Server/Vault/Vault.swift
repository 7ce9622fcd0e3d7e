package import Secrets
package import Vocabulary

/// The server's keys, used for sealing and for MACs.
///
/// Each sealed value is bound to its field and its wallet by the associated data (field name ‖ 0x00 ‖ wallet id), so an
/// attacker with write access to the database cannot swap in a value from another wallet or field.
package protocol Vault: Sendable {
    /// Seals a value with the active key version, in the format key id ‖ nonce ‖ ciphertext ‖ tag.
    ///
    /// Values of equal length have sealed forms of equal length.
    func seal(_ secret: borrowing SecretBytes, as field: VaultField, of wallet: WalletID) async throws(VaultError)
        -> [UInt8]

    /// Opens a value sealed with ``seal(_:as:of:)``, using the key version that it names.
    func unseal(_ sealed: [UInt8], as field: VaultField, of wallet: WalletID) async throws(VaultError) -> SecretBytes

    /// Returns a MAC of `message` under the key for `use`; the same for the same message during the key's life.
    ///
    /// It has 32 bytes, for the audit log and epochs the form of ``VersionedMAC``.
    func mac(_ message: [UInt8], for use: MACUse) async throws(VaultError) -> [UInt8]

    /// Returns whether `mac` is a MAC of `message` for `use`, by the present key or one that is still accepted.
    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) async throws(VaultError) -> Bool
}

extension Vault {
    /// Returns whether a value opens; its secret is discarded.
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

/// The fields that are sealed; a name is part of the associated data and must never change.
package enum VaultField: String, Sendable, CaseIterable {
    case identity
    case unlockShare = "unlock-share"
    case presenceShare = "presence-share"
    case deletionCode = "deletion-code"
}

/// The uses of MACs; each has a separate key.
package enum MACUse: String, Sendable, CaseIterable {
    /// Enrollment tokens.
    case enrollmentToken = "enrollment-token"
    /// The lookup of recovery codes; this key is never rotated.
    case recoveryCodeIndex = "recovery-code-index"
    /// Entries of the audit log; older versions of this key only verify.
    case auditLog = "audit-log"
    /// Records of epochs, each of which continues its predecessor; older versions of this key only verify.
    case storeEpoch = "store-epoch"
    /// Labels of backups, which may be restored after any number of rotations; this key is never rotated.
    case backup
    /// The key of the MACs of attempt records, which backups contain, too; never rotated.
    case attemptRecords = "attempt-records"
}

/// The reason why the vault gave no result.
package enum VaultError: Error, Hashable, Sendable {
    /// The value was altered, belongs to another field or wallet, or its key is not in the vault; refuse the call
    /// and alert the operator.
    case notOurs
    /// The vault cannot be reached now; answer `unavailable`.
    case unreachable
}
