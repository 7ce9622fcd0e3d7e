internal import CSQLite
internal import Glibc

/// A copy of an open database, made a few pages at a time while the source is being written to.
///
/// This uses SQLite's online backup (`sqlite3_backup_init(3)`). Since the source's own connection also updates pages
/// that have already been copied, the copy never has to restart, and it is identical to the source when it is done.
///
/// Safety invariants: The copy keeps its source alive. It is used only on the source's thread, which is why it is not
/// `Sendable`. The destination is not read before ``finish()``.
@safe package final class DatabaseCopy {
    private let source: SQLiteDatabase
    private let destination: SQLiteDatabase
    private var backup: OpaquePointer?

    /// Starts copying `source` to the existing empty file at `path`.
    ///
    /// - Important: Must not be called inside a transaction on the source.
    package init(of source: SQLiteDatabase, to path: String) throws(SQLiteFailure) {
        self.source = source
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        self.destination = try SQLiteDatabase(DatabaseFile.inRealFolder(path), flags: flags)
        // This connection runs no other statement. In SQLite's defensive mode, it could not be without a journal.
        // No journal or syncs are needed: the file is not read until it is complete, and its owner syncs it.
        try self.destination.execute(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE"
        )
        unsafe self.backup = sqlite3_backup_init(self.destination.handle, "main", source.handle, "main")
        guard unsafe self.backup != nil else {
            throw self.destination.failure(unsafe sqlite3_extended_errcode(self.destination.handle))
        }
    }

    deinit { unsafe sqlite3_backup_finish(self.backup) }

    /// Copies up to `pages` pages; returns true once all pages have been copied.
    ///
    /// - Important: Must not be called inside a transaction on the source.
    package func step(pages: Int32) throws(SQLiteFailure) -> Bool {
        switch unsafe sqlite3_backup_step(self.backup, pages) {
        case SQLITE_DONE: return true
        case SQLITE_OK, SQLITE_BUSY, SQLITE_LOCKED: return false
        case let code: throw self.destination.failure(code)
        }
    }

    /// The total number of pages in the source and the number still to be copied, as of the last step.
    package var progress: (total: Int, remaining: Int) {
        unsafe (Int(sqlite3_backup_pagecount(self.backup)), Int(sqlite3_backup_remaining(self.backup)))
    }

    /// Finishes the copy and closes the file.
    ///
    /// - Throws: If the copy is incomplete.
    package func finish() throws(SQLiteFailure) {
        defer { self.destination.close() }
        let code = unsafe sqlite3_backup_finish(self.backup)
        unsafe self.backup = nil
        try self.destination.require(code)
    }
}

/// The name under which SQLite opens a database, from which it derives the names of the log and the journal.
///
/// SQLite follows a symbolic link and looks for the log beside its target. A caller that checks the log beside the link
/// would check another file.
package enum DatabaseFile {
    /// Returns a path whose folder contains no symbolic links, which `SQLITE_OPEN_NOFOLLOW` requires.
    static func inRealFolder(_ path: String) -> String {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let real = unsafe realpath(folder, nil) else { return path }
        defer { unsafe free(real) }
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        let prefix = unsafe String(cString: real)
        return prefix == "/" ? "/\(name)" : "\(prefix)/\(name)"
    }

    /// SQLite has opened another file than the one named.
    package struct IsOther: Error {
        package let opened: String
    }

    /// Throws unless the connection's file is the one at this path, and not the target of a link there.
    package static func requireItself(_ path: String, of database: SQLiteDatabase) throws(IsOther) {
        let opened = unsafe sqlite3_db_filename(database.handle, "main").map { unsafe String(cString: $0) }
        guard opened == Self.inRealFolder(path) else { throw IsOther(opened: opened ?? "") }
    }
}
