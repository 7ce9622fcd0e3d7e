internal import Secrets
internal import Statements
internal import Vault
internal import Vocabulary

/// The production vault, which may be slow, and cannot be reached for a while.
struct FailingVault: Vault, @unchecked Sendable {
    let vault: KeyFileVault
    let fails: () -> Bool
    /// Waits as long as a slow vault takes.
    let wait: () async -> Void
    /// Runs before a share of a wallet is opened.
    let willOpenShare: () async -> Void

    private func reach() async throws(VaultError) {
        if self.fails() { throw .unreachable }
        await self.wait()
    }

    func seal(_ secret: borrowing SecretBytes, as field: VaultField, of wallet: WalletID) async throws(VaultError)
        -> [UInt8]
    {
        try await self.reach()
        return try await self.vault.seal(secret, as: field, of: wallet)
    }

    func unseal(_ sealed: [UInt8], as field: VaultField, of wallet: WalletID) async throws(VaultError) -> SecretBytes {
        try await self.reach()
        if field == .presenceShare || field == .unlockShare { await self.willOpenShare() }
        return try await self.vault.unseal(sealed, as: field, of: wallet)
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
