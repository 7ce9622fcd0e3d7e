internal import PostgreSQLStore
internal import ServerCommandLine
internal import StoreMaintenance
internal import Vault
internal import Vocabulary
internal import WalletStore

extension RunningServer {
    /// Checks that the vault key is the one used with this store, before any value is sealed.
    static func checkVault(_ files: ServerFiles, of store: any ServedStore) async throws {
        let now = try Self.clock(of: files.lab, store.lease).now()
        do throws(VaultMismatch) {
            try await VaultHistory.check(files.vault, of: store, store.lease, at: now)
        } catch {
            let kind: StartFailure.Kind = error == .store ? .files : .configuration
            throw StartFailure(kind, "`vault.key-file`: \(error)")
        }
    }

    /// Returns the failure for a store that lacks recorded changes, after marking a shared database for all of its
    /// servers.
    static func failure(_ error: OlderStore, of store: any ServedStore) async -> StartFailure {
        guard let database = store as? PostgreSQLWalletStore else {
            return StartFailure(.operatorMustAct, "\(error). \(error.wayOut)")
        }
        // The other servers do not know of the loss yet.
        try? await database.noteLostCommits()
        return StartFailure(.operatorMustAct, "\(error). \(Problem.epochWayOut)")
    }

    /// Returns the store's epoch, after checking that its epoch records were written by restores.
    static func epoch(of store: any MaintenanceStore, vault: any Vault) async throws -> Int {
        let epochs: [StoredEpoch]
        do throws(StoreError) {
            epochs = try await store.epochs()
        } catch {
            throw StartFailure(.operatorMustAct, "cannot read the store's epochs; restore a backup")
        }
        do throws(VaultError) {
            guard try await EpochRecords.areGenuine(epochs, by: vault) else {
                throw VaultError.notOurs
            }
        } catch {
            throw StartFailure(
                .operatorMustAct,
                "the MACs of the store's epochs do not match this vault's key: the epochs were altered, or "
                    + "`vault.key-file` belongs to another store"
            )
        }
        return epochs.count + 1
    }
}
