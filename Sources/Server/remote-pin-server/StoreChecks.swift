internal import HostSystem
internal import PostgreSQLStore
internal import RemotePINServer
internal import ServerSettings
internal import StoreMaintenance
internal import Vault
internal import Vocabulary
internal import WalletStore

/// Checks that a store and the vault's key belong together, and names the operator's next step if they do not.
enum StoreChecks {
    /// Returns the store's epoch, after checking that its epoch records were written by restores.
    static func epoch(of store: any WalletStore, vault: any Vault) async throws -> Int {
        let epochs = try await mapError(of: await store.epochs()) { (_: StoreError) in
            StartFailure(.operatorMustAct, "cannot read the store's epochs; restore a backup")
        }
        guard EpochRecords.areGenuine(epochs, by: vault) else {
            throw StartFailure(
                .operatorMustAct,
                "the MACs of the store's epochs do not match this vault's key: the epochs were altered, or "
                    + "`vault.key-file` belongs to another store"
            )
        }
        return epochs.count + 1
    }

    /// Checks that the vault key is the one used with this store, before any value is sealed.
    static func checkVault(_ files: ServerFiles, of store: any ServedStore, at now: Timestamp) async throws {
        do throws(VaultMismatch) {
            try await VaultHistory.check(files.vault, of: store, store.lease, at: now)
        } catch {
            switch error {
            case .store: throw StartFailure(.files, "\(error)")
            case .damaged: throw StartFailure(.operatorMustAct, "\(error)")
            case .older, .otherKey, .recordKey, .keyFile, .missingElsewhere:
                throw StartFailure(.configuration, "`vault.key-file`: \(error)")
            }
        }
    }

    /// Returns the failure for a store that lacks recorded changes, after marking a shared database for all of its
    /// servers.
    static func failure(_ error: OlderStore, of store: any ServedStore) async -> StartFailure {
        guard let database = store as? PostgreSQLWalletStore else {
            return StartFailure(.operatorMustAct, "\(error). \(error.wayOut)")
        }
        // The other servers do not know of the loss yet.
        try? await database.noteLostCommits()  // rule: epoch-loss-not-shared
        return StartFailure(.operatorMustAct, "\(error). \(Problem.epochWayOut)")
    }
}

extension RemotePINServer {
    /// Creates the server, or names the part of the store that prevents it.
    static func started(_ parts: Parts) async throws -> RemotePINServer {
        do throws(StoreError) {
            return try await RemotePINServer(parts)
        } catch {
            switch error {
            case .unavailable, .notErased, .notCertified, .outcomeUnknown:
                throw StartFailure(
                    .files,
                    "cannot read the store: check its disk for free space and errors, or the database's log"
                )
            case .corrupt:
                throw StartFailure(
                    .operatorMustAct,
                    "cannot decode the operators' settings in the store: restore a backup"
                )
            }
        }
    }
}
