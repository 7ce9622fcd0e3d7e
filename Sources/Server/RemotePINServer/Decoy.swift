internal import Crypto
internal import Secrets
internal import Synchronization
internal import Vault
internal import Vocabulary
internal import WalletStore

/// A stand-in for wallets that do not exist, with a sealed identity like any other: proofs of
/// unknown wallets are checked against it.
///
/// A class, because the sealed identity is replaced once the vault's key version that sealed it is
/// removed.
final class Decoy: Sendable {
    let record: IdentityRecord
    private let sealed: Mutex<[UInt8]>
    private let sealedShare: [UInt8]
    /// A wallet that exists, or nil until the first session.
    private let known = Mutex<WalletID?>(nil)
    private let walletID: WalletID
    private let vault: any Vault

    /// Creates a key, discards its private part and seals its identity.
    ///
    /// `appID` is an id of real wallets, so that an assertion is checked as far as theirs are.
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

    /// Notes a wallet that exists, for ``find(in:)``.
    func note(_ wallet: WalletID) { self.known.withLock { $0 = wallet } }

    /// Reads a wallet that exists, at the same cost as a rejected proof of a known wallet.
    func find(in store: any WalletStore) async throws(StoreError) {
        guard let wallet = self.known.withLock({ $0 }) else { return }
        _ = try await store.identity(of: wallet)
    }

    /// Opens a share with the vault, at the same cost as a right PIN.
    func openShare() async {
        // A failure of the vault must not change the answer to a wrong PIN.
        _ = try? await self.vault.unseal(self.sealedShare, as: .unlockShare, of: self.walletID)
    }

    /// Opens the record with the vault, as for a real wallet.
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
