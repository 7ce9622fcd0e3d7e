internal import Secrets
package import Vault
package import WalletStore

extension RecordKey {
    /// Derives the key for the MACs of attempt records.
    ///
    /// It stays the same when the vault's keys are rotated.
    package static func derived(by vault: any Vault) async throws(VaultError) -> RecordKey {
        var bytes = try await vault.mac(Array("remote-pin/1 attempt records".utf8), for: .attemptRecords)
        return RecordKey(SecretBytes(wiping: &bytes))
    }
}
