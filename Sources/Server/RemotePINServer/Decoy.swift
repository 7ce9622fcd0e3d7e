internal import Crypto
internal import Secrets
internal import Synchronization
internal import Vault
internal import Vocabulary

/// A wallet that nobody has, with a sealed identity like any other: what an unknown wallet's proof is checked against.
///
/// A class because what is sealed is replaced once the vault's key version that sealed it is gone.
final class Decoy: Sendable {
    let record: IdentityRecord
    private let sealed: Mutex<[UInt8]>
    private let walletID: WalletID
    private let vault: any Vault

    /// Makes a key that is thrown away and seals its identity.
    ///
    /// `appID` is one that real wallets have, so that an assertion is checked as far as theirs are.
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
    }

    /// The record, opened by the vault as a real one is.
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
