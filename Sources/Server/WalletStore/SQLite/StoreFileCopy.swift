internal import HostSystem
internal import SQLiteClient

/// Copies the whole store into another file.
///
/// Only one copy can be in progress at a time.
extension SQLiteWalletStore {
    /// Starts copying the store into an existing empty file.
    ///
    /// Must be followed by ``endCopy()``. Rejects the store's own folder, because a file there might have a name that
    /// SQLite uses for its log, or that a later server version uses.
    package func beginCopy(to path: String) async throws(StoreCopyError) {
        guard !DurableFile.isSame(DurableFile.folder(of: path), as: self.folder) else { throw .inStoreFolder }
        try await self.copying { connection throws(StoreCopyError) in
            guard connection.copy == nil else { throw .busy }
            connection.copy = try mapError(DatabaseCopy(of: connection.db, to: path), to: StoreCopyError.init)
        }
    }

    /// Copies up to `pages` pages.
    ///
    /// When the copy is complete, it equals the store at that time.
    package func stepCopy(pages: Int) async throws(StoreCopyError) -> StoreCopyProgress {
        try await self.copying { connection throws(StoreCopyError) in
            guard let copy = connection.copy else { throw .busy }
            let isWhole = try mapError(copy.step(pages: Int32(clamping: pages)), to: StoreCopyError.init)
            let (total, remaining) = copy.progress
            return StoreCopyProgress(pages: total, copied: total - remaining, isWhole: isWhole)
        }
    }

    /// Closes the copy; throws if it is incomplete.
    package func endCopy() async throws(StoreCopyError) {
        try await self.copying { connection throws(StoreCopyError) in
            guard let copy = connection.copy else { return }
            connection.copy = nil
            try mapError(copy.finish(), to: StoreCopyError.init)
        }
    }

    private func copying<Answer: Sendable>(
        _ chore: @escaping @Sendable (StoreConnection) throws(StoreCopyError) -> Answer
    ) async throws(StoreCopyError) -> Answer {
        let result = try await mapError(
            of: await self.queue.betweenBatches { connection in
                Result { () throws(StoreCopyError) in try chore(connection) }
            }
        ) { (_: StoreError) in StoreCopyError.closing }
        return try result.get()
    }
}

extension StoreCopyError {
    init(_ failure: SQLiteFailure) {
        let code = SQLiteFailure.name(of: failure.code)
        self = failure.isLackOfRoom ? .diskFull : failure.isOfReading ? .unreadable(code) : .failed(code)
    }
}

/// The progress of copying a store.
package struct StoreCopyProgress: Hashable, Sendable {
    package var pages: Int
    package var copied: Int
    package var isWhole: Bool
}

/// A reason why a store was not copied.
package enum StoreCopyError: Error, Hashable, Sendable {
    /// Another copy is in progress.
    ///
    /// Wait for it to finish.
    case busy
    /// The store is closing.
    case closing
    /// The disk that the copy is written to is full.
    case diskFull
    /// The copy would be in the store's own folder.
    ///
    /// Choose a different one.
    case inStoreFolder
    /// The store cannot be read because its file or disk is damaged.
    ///
    /// Keep the existing backups. The associated value is the name of SQLite's error code.
    case unreadable(String)
    /// The copy cannot be written, or SQLite failed for another reason.
    ///
    /// The associated value is the name of SQLite's error code.
    case failed(String)
}
