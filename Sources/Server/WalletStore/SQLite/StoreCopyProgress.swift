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
