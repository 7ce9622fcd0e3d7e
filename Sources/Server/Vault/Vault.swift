internal import Secrets
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

    /// The version that the keys of wallets have besides those that their values require.
    var activeVersion: UInt32 { get }

    /// Seals the outer layer of a wallet's identity, in the format of ``WalletKeys/seal(_:as:)``.
    ///
    /// Invariant: both layers have the same version, so the version of a stored identity is that of its PIN key.
    ///
    /// - Throws: ``VaultError/noKey`` only, if the vault does not have the version that sealed the PIN key.
    func sealIdentity(_ identity: LayeredIdentity, of wallet: WalletID) throws(VaultError) -> [UInt8]

    /// Opens the outer layer of an identity, using the version that it names.
    ///
    /// - Throws: ``VaultError/notOurs`` only.
    func openIdentity(_ sealed: [UInt8], of wallet: WalletID) throws(VaultError) -> LayeredIdentity

    /// Returns a MAC of `message` under the key for `use`.
    ///
    /// It stays the same for as long as the key is in use. The MAC is 32 bytes long, except for the audit log and
    /// epochs, where it has the format of ``VersionedMAC``.
    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8]

    /// Returns whether `mac` is a MAC of `message` for `use`, made with the current key or one that is still accepted.
    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool
}

extension Vault {
    /// Returns whether a value of any field opens with the keys of its wallet; of an identity, both layers.
    package func opens(_ sealed: [UInt8], as field: VaultField, with keys: WalletKeys) -> Bool {
        guard field == .identity else { return (try? keys.open(sealed, as: field)) != nil }
        guard let identity = try? self.openIdentity(sealed, of: keys.wallet) else { return false }
        return self.opens(identity.pinKey, as: .pin, with: keys)
    }
}

/// A wallet's identity, with its PIN key sealed under the wallet's key.
///
/// The outer layer is sealed under a key that the server derives at its start. A device's proof is verified with the
/// facts alone, so a client without a wallet's hardware never causes the vault to derive a key.
package struct LayeredIdentity: Hashable, Sendable {
    /// The PIN key, sealed as ``VaultField/pin``.
    package var pinKey: [UInt8]
    /// The hardware key and the app, which are fixed at registration.
    package let facts: [UInt8]

    /// A P-256 point, the version, the nonce and the tag.
    package static let pinKeyByteCount = 65 + SealedValue.prefixByteCount + SecretBytes.sealOverhead

    package init(pinKey: [UInt8], facts: [UInt8]) {
        precondition(pinKey.count == Self.pinKeyByteCount, "a sealed PIN key has one length")
        (self.pinKey, self.facts) = (pinKey, facts)
    }

    /// Creates an identity that looks as if it had a PIN key of this version.
    package init(decoy facts: [UInt8], version: UInt32) {
        let count = Self.pinKeyByteCount - SealedValue.prefixByteCount
        self.init(pinKey: version.bigEndianBytes + SecretBytes.random(count: count).exposedBytes(), facts: facts)
    }

    /// Decodes ``bytes``; returns nil if they are too short.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.pinKeyByteCount else { return nil }
        self.init(
            pinKey: Array(bytes.prefix(Self.pinKeyByteCount)),
            facts: Array(bytes.dropFirst(Self.pinKeyByteCount))
        )
    }

    var bytes: [UInt8] { self.pinKey + self.facts }
}

/// The fields that are sealed.
///
/// The name is part of the associated data and must never change.
package enum VaultField: String, Sendable, CaseIterable {
    case identity
    /// The PIN key in an identity.
    case pin
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
    /// The keys of the wallet lack the version that sealed the value.
    ///
    /// Close the connection without an answer. The wallet's next session has the keys of all its values, unless the
    /// value names a version that the vault does not have.
    case noKey
    /// The keys have been wiped, by a revocation or a permanent block.
    ///
    /// Close the connection without an answer, which the revocation does at the same time.
    case wiped
    /// The vault cannot be reached right now.
    ///
    /// Answer `unavailable`.
    case unreachable
}
