internal import RemotePINServer
internal import Vault
internal import WalletStore

extension RunningServer {
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
