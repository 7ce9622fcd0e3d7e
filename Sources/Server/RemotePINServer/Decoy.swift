internal import Crypto
internal import Secrets
internal import Vault
internal import Vocabulary

/// A wallet that nobody has, with a sealed identity like any other: what an unknown wallet's proof is checked against.
struct Decoy: Sendable {
    let record: IdentityRecord
    private let sealed: [UInt8]
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
        self.sealed = try await vault.seal(SecretBytes(copying: record.bytes), as: .identity, of: walletID)
    }

    /// The record, opened by the vault as a real one is.
    func open() async -> IdentityRecord {
        guard let bytes = try? await self.vault.unseal(self.sealed, as: .identity, of: self.walletID) else {
            return self.record
        }
        return IdentityRecord(bytes.exposedBytes()) ?? self.record
    }
}
