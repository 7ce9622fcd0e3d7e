internal import Logging
internal import Secrets
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

// An opened value is used for one answer and never kept: after a revocation the process holds no
// copy of it.
extension Conversation {
    /// Opens a wallet's identity.
    func identity(_ sealed: Sealed, of walletID: WalletID) async throws -> OpenedIdentity {
        let bytes = try await self.open(sealed, as: .identity, of: walletID)
        guard let record = IdentityRecord(bytes.exposedBytes()) else { throw VaultError.notOurs }
        return OpenedIdentity(record: record, sealed: sealed)
    }

    /// Opens a share that is about to be sent.
    func share(_ sealed: Sealed, as field: VaultField, of walletID: WalletID) async throws -> Share {
        guard let share = Share(try await self.open(sealed, as: field, of: walletID)) else { throw VaultError.notOurs }
        return share
    }

    /// Opens a share that is to replace the current one; returns nil if it does not open.
    ///
    /// The user needs only the current share. So a damaged next share does not fail the call: the wallet keeps its
    /// current share until another replacement is begun. The vault counts the failure.
    func nextShare(_ sealed: Sealed?, as field: VaultField, of walletID: WalletID) async -> Share? {
        guard let sealed else { return nil }
        do {
            return try await self.share(sealed, as: field, of: walletID)
        } catch {
            self.log.log(
                level: .error,
                "a next share does not open and is not offered; 'admin vault refresh-shares' makes another one",
                metadata: [
                    "wallet": "\(walletID)", "field": "\(field.rawValue)", "reason": "\(CallFailure(error).logged)",
                ]
            )
            return nil
        }
    }

    /// Opens a deletion code that is about to be sent.
    func deletionCode(_ sealed: Sealed, of walletID: WalletID) async throws -> DeletionCode {
        let bytes = try await self.open(sealed, as: .deletionCode, of: walletID)
        guard let code = DeletionCode(String(decoding: bytes.exposedBytes(), as: UTF8.self)) else {
            throw VaultError.notOurs
        }
        return code
    }

    private func open(_ sealed: Sealed, as field: VaultField, of walletID: WalletID) async throws -> SecretBytes {
        try await self.server.vault.unseal(sealed, as: field, of: walletID)
    }
}
