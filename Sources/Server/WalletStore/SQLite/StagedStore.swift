internal import Foundation
internal import HostSystem

/// A staging folder inside a store's folder, in which a backup becomes a store before any server can open it.
///
///     the folder's lock ─▶ restoring/wallets.db, checked and changed ─▶ wallets.db
///
/// Invariant: the last step is one link(2). Before it the folder holds no store and a server does not start; after
/// it the folder holds the complete store. The next restore removes the remains of a killed one.
package final class StagedStore: Sendable {
    private let folder: String
    private let lock: StoreLock

    /// The SQLite file, into which the caller writes the backup's pages.
    package var file: String { self.staging + "/wallets.db" }
    private var staging: String { self.folder + "/restoring" }

    /// Locks the folder, creating it if missing, and creates an empty staging folder in it.
    ///
    /// A folder with a store, or a part of one, is rejected: nothing is ever overwritten, and an earlier store's
    /// log would be taken for the new one's. A mark alone is no part: ``place()`` removes it.
    package init(folder: String) throws(StoreOpenError) {
        self.folder = folder
        self.lock = try StoreLock(folder: folder, creating: true)
        do throws(FileError) {
            let mark = StoreMark.path(of: "wallets.db")
            let parts = try DurableFile.names(in: folder).filter { $0.hasPrefix("wallets.db") && $0 != mark }
            if let part = parts.first { throw FileError.exists("\(folder)/\(part)") }
            if DurableFile.exists(self.staging) { try DurableFile.removeFolder(self.staging) }
            try DurableFile.makeFolder(self.staging)
            try DurableFile.makeEmpty(self.file)
        } catch {
            self.lock.release()
            throw StoreOpenError(error)
        }
    }

    /// Marks the written pages as a store and opens it.
    package func open(
        key: RecordKey,
        onFatal: @escaping @Sendable (FatalStoreError) -> Never = { fatalError("\($0)") }
    ) throws(StoreOpenError) -> SQLiteWalletStore {
        do throws(FileError) {
            try StoreFile.mark(self.file, as: .store)
        } catch {
            throw StoreOpenError(error)
        }
        return try SQLiteWalletStore.open(folder: self.staging, key: key, onFatal: onFatal)
    }

    /// Moves the closed store into its place and unlocks the folder.
    package func place() throws(StoreOpenError) {
        do throws(FileError) {
            // A log that could not be copied into the file holds data that the file lacks.
            guard !DurableFile.exists(self.file + "-wal") else { throw FileError.exists(self.file + "-wal") }
            try DurableFile.synchronize(self.file)
            // The mark of a store that was moved away would reject this one.
            let mark = StoreMark.path(of: self.folder + "/wallets.db")
            if DurableFile.exists(mark) { try DurableFile.remove(mark) }
            try DurableFile.place(self.file, at: self.folder + "/wallets.db")
        } catch {
            throw StoreOpenError(error)
        }
        // Only the staging folder's lock is left; if this fails, the next restore removes it.
        try? DurableFile.removeFolder(self.staging)
        self.lock.release()
    }

    /// Unlocks the folder and leaves its content to the next restore.
    package func abandon() {
        self.lock.release()
    }
}
