internal import Secrets
internal import Vault
internal import Vocabulary
internal import WalletStore

// What is opened is used for one answer and never kept: after a revocation nothing of it is left in the process.
extension Conversation {
    /// Opens a wallet's identity.
    func identity(_ sealed: Sealed, of walletID: WalletID) async throws(CallFailure) -> OpenedIdentity {
        let bytes = try await self.open(sealed, as: .identity, of: walletID)
        guard let record = IdentityRecord(bytes.exposedBytes()) else { throw .vault(.notOurs) }
        return OpenedIdentity(record: record, sealed: sealed)
    }

    /// Opens a share that is about to be sent.
    func share(_ sealed: Sealed, as field: VaultField, of walletID: WalletID) async throws(CallFailure) -> Share {
        guard let share = Share(try await self.open(sealed, as: field, of: walletID)) else { throw .vault(.notOurs) }
        return share
    }

    /// Opens a deletion code that is about to be sent.
    func deletionCode(_ sealed: Sealed, of walletID: WalletID) async throws(CallFailure) -> DeletionCode {
        let bytes = try await self.open(sealed, as: .deletionCode, of: walletID)
        guard let code = DeletionCode(String(decoding: bytes.exposedBytes(), as: UTF8.self)) else {
            throw .vault(.notOurs)
        }
        return code
    }

    private func open(
        _ sealed: Sealed,
        as field: VaultField,
        of walletID: WalletID
    ) async throws(CallFailure) -> SecretBytes {
        do throws(VaultError) {
            return try await self.services.vault.unseal(sealed, as: field, of: walletID)
        } catch {
            throw .vault(error)
        }
    }
}
