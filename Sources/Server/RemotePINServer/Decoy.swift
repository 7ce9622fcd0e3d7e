internal import Crypto
internal import Secrets
internal import Synchronization
internal import Vault
internal import Vocabulary

/// A stand-in for wallets that do not exist.
///
/// Proofs of unknown wallets are checked against it. Its sealed identity looks like any other. This is a class because
/// the sealed identity must be replaced when the key version it was sealed with is removed from the vault.
final class Decoy: Sendable {
    let record: IdentityRecord
    private let sealed: Mutex<[UInt8]>
    private let sealedShare: [UInt8]
    private let walletID: WalletID
    private let vault: any Vault

    /// Creates a key, discards the private part, and seals the identity.
    ///
    /// `appID` must be used by real wallets, so that an assertion is checked as far as it would be for them.
    init(appID: String, vault: any Vault) async throws(VaultError) {
        let walletID = WalletID.random()
        let key = P256.Signing.PrivateKey().publicKey.x963Representation
        guard let publicKey = P256PublicKey(key),
            let record = IdentityRecord(
                platform: .android,
                hardwareKey: publicKey,
                appID: appID,
                environment: "",
                pinKey: publicKey,
                pinKeyID: .random()
            )
        else { preconditionFailure("a new key and a configured app id make an identity") }
        self.record = record
        self.walletID = walletID
        self.vault = vault
        self.sealed = Mutex(try await vault.seal(SecretBytes(copying: record.bytes), as: .identity, of: walletID))
        self.sealedShare = try await vault.seal(Share.random().copy(), as: .unlockShare, of: walletID)
    }

    /// Unseals a share with the vault, which takes as long as for a correct PIN.
    func openShare() async {
        // A vault failure must not affect the answer to a wrong PIN.
        _ = try? await self.vault.unseal(self.sealedShare, as: .unlockShare, of: self.walletID)
    }

    /// Unseals the record with the vault, as for a real wallet.
    func open() async -> IdentityRecord {
        let sealed = self.sealed.withLock { $0 }
        guard let bytes = try? await self.vault.unseal(sealed, as: .identity, of: self.walletID) else {
            let secret = SecretBytes(copying: self.record.bytes)
            if let fresh = try? await self.vault.seal(secret, as: .identity, of: self.walletID) {
                self.sealed.withLock { $0 = fresh }
            }
            return self.record
        }
        return IdentityRecord(bytes.exposedBytes()) ?? self.record
    }
}
