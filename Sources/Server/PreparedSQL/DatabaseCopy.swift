package import GRDB
internal import GRDBSQLite

/// A copy of an open database, made in steps of a few pages while the source is being written.
///
/// Uses SQLite's online backup (`sqlite3_backup_init(3)`): writes by the source's own connection also reach pages
/// that were copied already. So the copy never restarts, and at its end equals the source.
///
/// Safety invariants: the copy keeps its source alive; it is used only on the source's thread, which is why it is not
/// `Sendable`; the destination is not read before ``finish()``.
@safe package final class DatabaseCopy {
    /// The SQLite code with which a copy failed.
    package struct Failure: Error, Hashable {
        package let code: Int32

        /// Indicates that the destination's disk is full.
        package var isDiskFull: Bool { self.code & 0xFF == SQLITE_FULL }

        /// Indicates that the source cannot be read; the copy reads nothing from the destination.
        package var isOfSource: Bool {
            // SQLITE_IOERR_READ and SQLITE_IOERR_SHORT_READ are macros with casts, which Swift cannot import
            // (sqlite3.h).
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

    /// Begins to copy `source` into the existing empty file `path`.
    ///
    /// - Important: Call it outside any transaction of the source.
    package init(of source: Database, to path: String) throws(Failure) {
        self.source = source
        var destination: OpaquePointer?
        let code = unsafe sqlite3_open_v2(path, &destination, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        unsafe self.destination = destination
        guard code == SQLITE_OK else {
            self.close()
            throw Failure(code: code)
        }
        // No journal and no syncs: the file is not read before it is complete, and its owner syncs it.
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

    /// Copies at most `pages` pages; returns true once all are copied.
    ///
    /// - Important: Call it outside any transaction of the source.
    package func step(pages: Int32) throws(Failure) -> Bool {
        switch unsafe sqlite3_backup_step(self.backup, pages) {
        case SQLITE_DONE: return true
        case SQLITE_OK, SQLITE_BUSY, SQLITE_LOCKED: return false
        case let code: throw Failure(code: code)
        }
    }

    /// The source's page count and the number of pages left to copy, as of the last step.
    package var progress: (total: Int, remaining: Int) {
        unsafe (Int(sqlite3_backup_pagecount(self.backup)), Int(sqlite3_backup_remaining(self.backup)))
    }

    /// Ends the copy and closes the file.
    ///
    /// - Throws: If the copy is incomplete.
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
