internal import Logging
internal import Secrets
internal import Vault
internal import Vocabulary
internal import WalletStore

// An unsealed value is used for a single answer and never kept, so that the process has no copy of it after a
// revocation.
extension Conversation {
    /// Unseals a wallet's identity.
    func identity(_ sealed: Sealed, of walletID: WalletID) async throws -> OpenedIdentity {
        let bytes = try await self.open(sealed, as: .identity, of: walletID)
        guard let record = IdentityRecord(bytes.exposedBytes()) else { throw VaultError.notOurs }
        return OpenedIdentity(record: record, sealed: sealed)
    }

    /// Unseals a share that is about to be sent.
    func share(_ sealed: Sealed, as field: VaultField, of walletID: WalletID) async throws -> Share {
        guard let share = Share(try await self.open(sealed, as: field, of: walletID)) else { throw VaultError.notOurs }
        return share
    }

    /// Unseals the share that will replace the current one.
    ///
    /// Returns nil if it cannot be unsealed. The user only needs the current share, so a damaged next share must not
    /// make the call fail. The wallet keeps its current share until another replacement is started. The vault counts
    /// the failure.
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

    /// Unseals a deletion code that is about to be sent.
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
