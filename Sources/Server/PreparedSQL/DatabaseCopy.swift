package import GRDB
internal import GRDBSQLite

/// A copy of an open database, made some pages at a time while others go on writing.
///
/// SQLite's online backup (`sqlite3_backup_init(3)`): what the source's own connection writes meanwhile also reaches the
/// pages that were copied before, so the copy never begins anew and holds, at its end, what the source then holds.
///
/// Invariants that make it safe: the copy keeps its source alive; it is used on the thread that has the source and no
/// other, which is why it is not `Sendable`; nothing of the destination is read before ``finish()``.
@safe package final class DatabaseCopy {
    /// Why a copy does not go on: the destination, or the source, gave this code of SQLite's.
    package struct Failure: Error, Hashable {
        package let code: Int32

        /// The destination's disk is full.
        package var isDiskFull: Bool { self.code & 0xFF == SQLITE_FULL }

        /// The source cannot be read; nothing is read of the destination.
        package var isOfSource: Bool {
            // SQLITE_IOERR_READ and SQLITE_IOERR_SHORT_READ: macros with casts, which Swift does not see (sqlite3.h).
            [SQLITE_CORRUPT, SQLITE_NOTADB].contains(self.code & 0xFF)
                || [SQLITE_IOERR | 1 << 8, SQLITE_IOERR | 2 << 8].contains(self.code)
        }

        package init(code: Int32) {
            self.code = code
        }
    }

    private let source: Database
    private var destination: OpaquePointer?
    private var backup: OpaquePointer?

    /// Begins to copy `source` into the file `path`, which exists and is empty.
    ///
    /// - Important: Not within a transaction of the source.
    package init(of source: Database, to path: String) throws(Failure) {
        self.source = source
        var destination: OpaquePointer?
        let code = unsafe sqlite3_open_v2(path, &destination, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        unsafe self.destination = destination
        guard code == SQLITE_OK else {
            self.close()
            throw Failure(code: code)
        }
        // Nobody reads the file before it is whole and synced by its owner: no journal, no syncs of SQLite's own.
        let settings = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE"
        let set = unsafe sqlite3_exec(destination, settings, nil, nil, nil)
        guard set == SQLITE_OK else {
            self.close()
            throw Failure(code: set)
        }
        unsafe self.backup = sqlite3_backup_init(destination, "main", source.sqliteConnection, "main")
        guard unsafe self.backup != nil else {
            let code = unsafe sqlite3_errcode(destination)
            self.close()
            throw Failure(code: code)
        }
    }

    deinit { self.close() }

    /// Copies at most so many pages; true once all are copied.
    ///
    /// - Important: Not within a transaction of the source.
    package func step(pages: Int32) throws(Failure) -> Bool {
        switch unsafe sqlite3_backup_step(self.backup, pages) {
        case SQLITE_DONE: return true
        case SQLITE_OK, SQLITE_BUSY, SQLITE_LOCKED: return false
        case let code: throw Failure(code: code)
        }
    }

    /// How many pages the source has, and how many of them are still to be copied, as of the last step.
    package var progress: (total: Int, remaining: Int) {
        unsafe (Int(sqlite3_backup_pagecount(self.backup)), Int(sqlite3_backup_remaining(self.backup)))
    }

    /// Ends the copy and lets go of the file.
    ///
    /// - Throws: when the copy is not whole.
    package func finish() throws(Failure) {
        let code = unsafe sqlite3_backup_finish(self.backup)
        unsafe self.backup = nil
        let closed = unsafe sqlite3_close(self.destination)
        unsafe self.destination = nil
        for code in [code, closed] where code != SQLITE_OK { throw Failure(code: code) }
    }

    private func close() {
        if unsafe self.backup != nil { unsafe sqlite3_backup_finish(self.backup) }
        unsafe self.backup = nil
        unsafe sqlite3_close(self.destination)
        unsafe self.destination = nil
    }
}
