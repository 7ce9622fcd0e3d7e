internal import GRDBSQLite

/// A database that is read without changing anything, and that no connection has open.
///
/// The file is opened as immutable, so SQLite takes no locks, reads no log, and changes nothing.
///
/// Safety invariant: the connection is used only within the calls of this value, which closes it.
@safe package struct UnchangedDatabase: ~Copyable {
    /// A failed call of SQLite.
    package struct Failure: Error, CustomStringConvertible {
        let code: Int32

        package var description: String { "the file cannot be read (\(SQLiteFailure.name(of: self.code)))" }
    }

    private let database: OpaquePointer?

    package init(_ path: String) throws(Failure) {
        var database: OpaquePointer?
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        let name = Self.escaped(DatabaseFile.inRealFolder(path))
        let code = unsafe sqlite3_open_v2("file:\(name)?immutable=1", &database, flags, nil)
        unsafe self.database = database
        guard code == SQLITE_OK else { throw Failure(code: code) }
        let hardened = unsafe HardenedConnection.harden(database)
        guard hardened == SQLITE_OK else { throw Failure(code: hardened) }
    }

    deinit { unsafe sqlite3_close(self.database) }

    /// Runs a statement and calls `read` with each row.
    package func forEachRow(of sql: String, _ read: (borrowing PreparedRow) -> Void) throws(Failure) {
        var statement: OpaquePointer?
        defer { unsafe sqlite3_finalize(statement) }
        let code = unsafe sqlite3_prepare_v2(self.database, sql, -1, &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else { throw Failure(code: code) }
        while true {
            switch unsafe sqlite3_step(statement) {
            case SQLITE_ROW: read(unsafe PreparedRow(statement))
            case SQLITE_DONE: return
            case let code: throw Failure(code: code)
            }
        }
    }

    /// Escapes a path for use in a URI (RFC 3986, 2.1).
    private static func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                return String(UnicodeScalar(byte))
            default:
                return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }.joined()
    }
}
