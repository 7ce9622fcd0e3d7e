internal import Statements
internal import Vault
internal import Vocabulary

/// The production vault, which may be slow, and cannot be reached for a while.
struct FailingVault: Vault, @unchecked Sendable {
    let vault: KeyFileVault
    let fails: () -> Bool
    /// Waits as long as a slow vault takes.
    let wait: () async -> Void

    func keys(of wallet: WalletID, opening sealed: [[UInt8]]) async throws(VaultError) -> WalletKeys {
        if self.fails() { throw .unreachable }
        await self.wait()
        return try await self.vault.keys(of: wallet, opening: sealed)
    }

    var activeVersion: UInt32 { self.vault.activeVersion }

    func sealIdentity(_ identity: LayeredIdentity, of wallet: WalletID) throws(VaultError) -> [UInt8] {
        try self.vault.sealIdentity(identity, of: wallet)
    }

    func openIdentity(_ sealed: [UInt8], of wallet: WalletID) throws(VaultError) -> LayeredIdentity {
        try self.vault.openIdentity(sealed, of: wallet)
    }

    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] { self.vault.mac(message, for: use) }

    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        self.vault.isMAC(mac, of: message, for: use)
    }
}

/// A signer of receipts whose keys cannot be used while the vault is unreachable.
struct FailingSigner: ReceiptSigner, @unchecked Sendable {
    let signer: any ReceiptSigner
    let fails: () -> Bool

    func sign(root: SHA256Digest, epoch: UInt64, at time: Timestamp, by version: UInt32?) -> SignedRoot? {
        self.fails() ? nil : self.signer.sign(root: root, epoch: epoch, at: time, by: version)
    }
}
