internal import GRDBSQLite

/// Checks of a database that is not open on any connection: its structure (`PRAGMA integrity_check`) and its schema.
///
/// The file is opened as immutable, so SQLite takes no locks, reads no log, and changes nothing.
package enum StructureCheck {
    /// The maximum number of findings to report.
    private static let most = 20

    /// Reads the whole file and returns SQLite's findings, empty if the file is sound.
    ///
    /// The findings include rows that cannot be found by their index, which `PRAGMA quick_check` does not look for.
    /// This takes up to three times as long as reading the file, or longer if the file does not fit into memory, and
    /// blocks the calling thread.
    package static func findings(in path: String) -> [String] {
        let sql = "PRAGMA integrity_check(\(Self.most))"
        let (rows, failure) = Self.rows(of: sql, in: path)
        return rows.map { $0[0] }.filter { $0 != "ok" } + [failure].compactMap(\.self)
    }

    /// Returns the entries of the database's schema, or nil if the file cannot be read.
    package static func schema(of path: String) -> [SchemaEntry]? {
        let (rows, failure) = Self.rows(of: SchemaEntry.query, in: path)
        return failure == nil ? rows.map(SchemaEntry.init) : nil
    }

    /// Runs a query and returns its rows as text, and the reason if not all of them can be read.
    private static func rows(of sql: String, in path: String) -> (rows: [[String]], failure: String?) {
        func failed(_ code: Int32) -> String { "the file cannot be read (SQLite's code \(code))" }
        var database: OpaquePointer?
        defer { unsafe sqlite3_close(database) }
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
        let opened = unsafe sqlite3_open_v2("file:\(Self.escaped(path))?immutable=1", &database, flags, nil)
        guard opened == SQLITE_OK else { return ([], failed(opened)) }
        let hardened = unsafe HardenedConnection.harden(database)
        guard hardened == SQLITE_OK else { return ([], failed(hardened)) }
        var statement: OpaquePointer?
        defer { unsafe sqlite3_finalize(statement) }
        let prepared = unsafe sqlite3_prepare_v2(database, sql, -1, &statement, nil)
        guard prepared == SQLITE_OK else { return ([], failed(prepared)) }
        var rows: [[String]] = []
        while true {
            switch unsafe sqlite3_step(statement) {
            case SQLITE_ROW:
                let columns = unsafe 0..<sqlite3_column_count(statement)
                rows.append(
                    columns.map { column in
                        unsafe sqlite3_column_text(statement, column).map { unsafe String(cString: $0) } ?? ""
                    }
                )
            case SQLITE_DONE: return (rows, nil)
            case let code: return (rows, failed(code))
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
