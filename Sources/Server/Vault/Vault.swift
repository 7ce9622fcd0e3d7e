package import Secrets
package import Vocabulary

/// The server's keys: what only they can open, and what only they can have made.
///
/// Everything sealed is bound to its field and its wallet by the associated data (field name ‖ 0x00 ‖ wallet id), so
/// that a writer of the database cannot put one wallet's value, or one field's, in another's place.
package protocol Vault: Sendable {
    /// Seals under the active key version: key id ‖ nonce ‖ ciphertext ‖ tag. Every value of one length is sealed to one
    /// length.
    func seal(_ secret: borrowing SecretBytes, as field: VaultField, of wallet: WalletID) async throws(VaultError)
        -> [UInt8]

    /// Opens what ``seal(_:as:of:)`` made, under whichever key version it names.
    func unseal(_ sealed: [UInt8], as field: VaultField, of wallet: WalletID) async throws(VaultError) -> SecretBytes

    /// A 32-byte MAC of `message` under the key for `use`; the same for the same message as long as the key lives.
    func mac(_ message: [UInt8], for use: MACUse) async throws(VaultError) -> [UInt8]

    /// Whether `mac` is a MAC of `message` for `use`, by the present key or by one that is still accepted.
    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) async throws(VaultError) -> Bool
}

extension Vault {
    /// Whether a value opens; its secret is kept nowhere.
    ///
    /// - Throws: ``VaultError/unreachable`` where nobody can say.
    package func opens(_ sealed: [UInt8], as field: VaultField, of wallet: WalletID) async throws(VaultError) -> Bool {
        do throws(VaultError) {
            _ = try await self.unseal(sealed, as: field, of: wallet)
            return true
        } catch .notOurs {
            return false
        }
    }
}

/// What is sealed; its name is part of the associated data and must never change.
package enum VaultField: String, Sendable, CaseIterable {
    case identity
    case unlockShare = "unlock-share"
    case presenceShare = "presence-share"
    case deletionCode = "deletion-code"
}

/// What a MAC is for; each use has a key of its own.
package enum MACUse: String, Sendable, CaseIterable {
    /// Enrollment tokens.
    case enrollmentToken = "enrollment-token"
    /// Recovery codes, which are looked up by it: this key is never rotated.
    case recoveryCodeIndex = "recovery-code-index"
    /// Entries of the audit log, which must stay verifiable: this key is never rotated.
    case auditLog = "audit-log"
    /// Records of epochs, which every later one continues: this key is never rotated.
    case storeEpoch = "store-epoch"
    /// Labels of backups, which may be restored after any number of rotations: this key is never rotated.
    case backup
}

/// Why the vault did not answer.
package enum VaultError: Error, Hashable, Sendable {
    /// The value was altered, belongs to another field or wallet, or its key is not among the vault's; refuse the call
    /// and tell the operator.
    case notOurs
    /// The vault cannot be reached now; answer `unavailable`.
    case unreachable
}
