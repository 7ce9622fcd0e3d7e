internal import Foundation
internal import HostSystem

/// A place beside a store's where a backup is made a store again, before anybody can serve it.
///
///     the folder's lock ─▶ restoring/wallets.db, checked and changed ─▶ wallets.db
///
/// Invariant: the last step is one link(2). Until then the folder holds no store, and a server does not start; from then on
/// it holds the whole one. What a restore that was killed left behind is removed by the next one.
package final class StagedStore: Sendable {
    private let folder: String
    private let lock: StoreLock

    /// The SQLite file: its owner writes the backup's pages here.
    package var file: String { self.staging + "/wallets.db" }
    private var staging: String { self.folder + "/restoring" }

    /// Takes the folder, which is made where it is missing, and makes an empty place in it.
    ///
    /// A folder with a store, or a part of one, is refused: nothing is ever overwritten, and a log that an earlier store
    /// left behind would be taken for the new one's.
    package init(folder: String) throws(StoreOpenError) {
        self.folder = folder
        self.lock = try StoreLock(folder: folder, creating: true)
        do throws(FileError) {
            let parts = try DurableFile.names(in: folder).filter { $0.hasPrefix("wallets.db") }
            if let part = parts.first { throw FileError.exists("\(folder)/\(part)") }
            if DurableFile.exists(self.staging) { try DurableFile.removeFolder(self.staging) }
            try DurableFile.makeFolder(self.staging)
            try DurableFile.makeEmpty(self.file)
        } catch {
            self.lock.release()
            throw StoreOpenError(error)
        }
    }

    /// Marks the pages that were written as a store's, and opens it.
    package func open(
        onFatal: @escaping @Sendable (String) -> Never = { fatalError($0) }
    ) throws(StoreOpenError) -> SQLiteWalletStore {
        do throws(FileError) {
            try StoreFile.mark(self.file, as: .store)
        } catch {
            throw StoreOpenError(error)
        }
        return try SQLiteWalletStore.open(folder: self.staging, onFatal: onFatal)
    }

    /// Gives the store, which is closed, its place; the folder is free then.
    package func place() throws(StoreOpenError) {
        do throws(FileError) {
            // A log that could not be copied into the file holds what the file lacks.
            guard !DurableFile.exists(self.file + "-wal") else { throw FileError.exists(self.file + "-wal") }
            try DurableFile.synchronize(self.file)
            try DurableFile.place(self.file, at: self.folder + "/wallets.db")
        } catch {
            throw StoreOpenError(error)
        }
        // What is left is the staging's own lock; the next restore removes it otherwise.
        try? DurableFile.removeFolder(self.staging)
        self.lock.release()
    }

    /// Lets go of the folder and leaves what is there to the next restore.
    package func abandon() {
        self.lock.release()
    }
}
