internal import HostSystem

/// A staging folder inside a store's folder.
///
/// A backup is turned into a store here before any server can open it.
///
///     the folder's lock ─▶ restoring/wallets.db, checked and changed ─▶ wallets.db
///
/// Invariant: the last step renames one file. Before it, the folder contains no store, so a server does not start.
/// After it, the folder contains the complete store with its mark. If a restore is killed, the next one removes what it
/// left behind.
package final class StagedStore: Sendable {
    private let folder: String
    private let lock: StoreLock

    /// The SQLite file that the caller writes the backup's pages to.
    package var file: String { self.staging + "/wallets.db" }
    private var staging: String { self.folder + "/restoring" }

    /// Locks the folder, creating it if missing, and creates an empty staging folder in it.
    ///
    /// A folder that contains a store or part of one is rejected: nothing may be overwritten, and an earlier store's
    /// log would be mistaken for the new store's. A mark alone is accepted, because ``place()`` replaces it.
    package init(folder: String) throws(StoreOpenError) {
        self.folder = folder
        self.lock = try StoreLock(folder: folder, creating: true)
        do throws(FileError) {
            let mark = StoreMark.path(of: "wallets.db")
            let parts = try DurableFile.names(in: folder).filter { $0.hasPrefix("wallets.db") && $0 != mark }
            if let part = parts.first { throw FileError.exists("\(folder)/\(part)") }
            // Throws if the name leads elsewhere: only a file of its own may be replaced.
            _ = try StoreMark.read(at: "\(folder)/\(mark)")
            if DurableFile.exists(self.staging) { try DurableFile.removeFolder(self.staging) }
            try DurableFile.makeFolder(self.staging)
            try DurableFile.makeEmpty(self.file)
        } catch {
            self.lock.release()
            throw StoreOpenError(error)
        }
    }

    /// Marks the written pages as a store and opens the store.
    package func open(
        key: RecordKey,
        onFatal: @escaping @Sendable (FatalStoreError) -> Never = { fatalError("\($0)") }
    ) throws(StoreOpenError) -> SQLiteWalletStore {
        try mapError(StoreFile.mark(self.file, as: .store), to: StoreOpenError.init)
        try mapError(StoreMark.create(of: self.file), to: StoreOpenError.init)
        return try SQLiteWalletStore.open(folder: self.staging, key: key, onFatal: onFatal)
    }

    /// Moves the closed store to its final place and unlocks the folder.
    package func place() throws(StoreOpenError) {
        do throws(FileError) {
            // A log that could not be copied into the file contains data missing from the file.
            guard !DurableFile.exists(self.file + "-wal") else { throw FileError.exists(self.file + "-wal") }
            try DurableFile.synchronize(self.file)
            // The mark left by a store that was moved away would cause this one to be rejected.
            let path = self.folder + "/wallets.db"
            let mark = StoreMark.path(of: path)
            if DurableFile.isNamed(mark) { try DurableFile.remove(mark) }
            try DurableFile.place(StoreMark.path(of: self.file), at: mark)
            try DurableFile.place(self.file, at: path)
        } catch {
            throw StoreOpenError(error)
        }
        // Only the staging folder's lock is left. If it cannot be removed, the next restore removes it.
        try? DurableFile.removeFolder(self.staging)
        self.lock.release()
    }

    /// Unlocks the folder and leaves its contents for the next restore.
    package func abandon() {
        self.lock.release()
    }
}
