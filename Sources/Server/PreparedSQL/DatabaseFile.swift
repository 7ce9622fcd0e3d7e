package import GRDB
internal import GRDBSQLite
internal import Glibc

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
    package static func requireItself(_ path: String, of database: Database) throws(IsOther) {
        let opened = unsafe sqlite3_db_filename(database.sqliteConnection, "main").map { unsafe String(cString: $0) }
        guard opened == Self.inRealFolder(path) else { throw IsOther(opened: opened ?? "") }
    }
}
