internal import StoreMaintenance
internal import Vault
internal import Vocabulary
internal import WalletStore

extension RunningServer {
    /// Whether the key file is the one that the store was used with; before anything is sealed.
    static func checkVault(_ files: ServerFiles, of store: SQLiteWalletStore) async throws {
        let now = try Self.clock(of: files.lab).now()
        do throws(VaultMismatch) {
            try await VaultHistory.check(files.vault, of: store, at: now)
        } catch {
            let kind: StartFailure.Kind = error == .store ? .files : .configuration
            throw StartFailure(kind, "`vault.key-file`: \(error)")
        }
    }

    /// The store's epoch, whose records are as restores made them.
    static func epoch(of store: SQLiteWalletStore, vault: any Vault) async throws -> Int {
        let epochs: [StoredEpoch]
        do throws(StoreError) {
            epochs = try await store.epochs()
        } catch {
            throw StartFailure(.damaged, "the store's epochs cannot be read; restore a backup")
        }
        do throws(VaultError) {
            guard try await EpochRecords.areGenuine(epochs, by: vault) else {
                throw VaultError.notOurs
            }
        } catch {
            throw StartFailure(
                .damaged,
                "the store's epochs were not recorded with this vault's key: somebody changed them, or the key is not its own"
            )
        }
        return epochs.count + 1
    }
}
