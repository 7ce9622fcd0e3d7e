internal import HostSystem
internal import Vault
internal import WalletStore

/// The initial state of a new server: a vault key and an empty store.
package enum NewServerState {
    /// Creates the key file and an empty store.
    ///
    /// - Throws: A file or store error. An existing file is never overwritten.
    package static func create(vaultKey: String, data: String) async throws {
        try KeyFileVault.create(at: vaultKey)
        try DurableFile.makeFolder(data)
        let store: SQLiteWalletStore
        do {
            let key = RecordKey.derived(by: try await KeyFileVault(vaultKey))
            store = try SQLiteWalletStore.open(folder: data, key: key, creating: true)
        } catch {
            throw StoreNotCreated(reason: "\(error)")
        }
        await store.close()
    }

    /// Throws if the folder exists and is not empty.
    package static func requireUnused(_ folder: String) throws(FolderInUse) {
        guard DurableFile.exists(folder) else { return }
        let names = DurableFile.isFolder(folder) ? try? DurableFile.names(in: folder) : nil
        guard names == [] else { throw FolderInUse(path: folder) }
    }

    /// The folder is not empty, or a file exists in its place.
    ///
    /// Choose another folder.
    package struct FolderInUse: Error, CustomStringConvertible {
        let path: String

        package var description: String {
            "\(self.path) exists and is not an empty folder; nothing was changed; name another folder"
        }
    }

    private struct StoreNotCreated: Error, CustomStringConvertible {
        let reason: String

        var description: String { "cannot create the store: \(self.reason)" }
    }
}
