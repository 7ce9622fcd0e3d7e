internal import CSQLite

/// Counts the pages in a database's write-ahead log, for an owner that decides when to copy them into the database.
///
/// SQLite reports the number after each commit (`sqlite3_wal_hook(3)`). Once this object has been created, SQLite makes
/// no more automatic checkpoints on the connection, because those use the same hook. A connection can have only one
/// such object.
///
/// Safety invariants: The object removes the hook before it is deallocated, unless the connection is already closed.
/// Both are used only on the database's thread, which is why the object is not `Sendable`.
@safe package final class LogPages {
    private let database: SQLiteDatabase
    /// The number of pages in the log after the last commit.
    package private(set) var count = 0

    package init(of database: SQLiteDatabase) {
        self.database = database
        let pointer = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe sqlite3_wal_hook(
            database.handle,
            { pointer, _, _, count in
                if let pointer = unsafe pointer {
                    unsafe Unmanaged<LogPages>.fromOpaque(pointer).takeUnretainedValue().count = Int(count)
                }
                return SQLITE_OK
            },
            pointer
        )
    }

    deinit {
        guard let connection = unsafe self.database.handle else { return }
        unsafe sqlite3_wal_hook(connection, nil, nil)
    }

    /// Copies the log's pages into the database.
    ///
    /// The next commit then starts the log over. If copying fails, nothing is lost: the log keeps the pages, and the
    /// next commit corrects the count. SQLite ignores failed automatic checkpoints for the same reason.
    package func copyToDatabase() {
        _ = try? self.database.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
        self.count = 0
    }
}
