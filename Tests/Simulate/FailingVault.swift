internal import Statements
internal import Vault
internal import Vocabulary

/// The production vault, whose module may be slow, and silent for a while.
///
/// A request to a silent module fails after a time limit. After three failures in a row, requests fail at once until
/// the module answers again.
final class FailingVault: Vault, @unchecked Sendable {
    /// Microseconds.
    private static let timeLimit: Int64 = 2_000_000

    let vault: KeyFileVault
    let scheduler: Scheduler
    let silentUntil: () -> Int64
    /// Waits as long as a slow vault takes.
    let delay: () async -> Void
    private var failures = 0

    init(
        _ vault: KeyFileVault,
        _ scheduler: Scheduler,
        silentUntil: @escaping () -> Int64,
        delay: @escaping () async -> Void
    ) {
        (self.vault, self.scheduler, self.silentUntil, self.delay) = (vault, scheduler, silentUntil, delay)
    }

    func keys(of wallet: WalletID, opening sealed: [[UInt8]]) async throws(VaultError) -> WalletKeys {
        let silence = self.silentUntil() - self.scheduler.now
        if silence > 0 {
            guard self.failures < 3 else { throw .unreachable }
            await self.scheduler.wait(min(silence, Self.timeLimit))
            if silence > Self.timeLimit {
                self.failures += 1
                throw .unreachable
            }
        }
        self.failures = 0
        await self.delay()
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

/// A signer of receipts whose keys cannot be used while the module is silent.
struct FailingSigner: ReceiptSigner, @unchecked Sendable {
    let signer: any ReceiptSigner
    let fails: () -> Bool

    func sign(root: SHA256Digest, epoch: UInt64, at time: Timestamp, by version: UInt32?) -> SignedRoot? {
        self.fails() ? nil : self.signer.sign(root: root, epoch: epoch, at: time, by: version)
    }
}
