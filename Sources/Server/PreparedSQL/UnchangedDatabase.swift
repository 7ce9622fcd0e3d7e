internal import CSQLiteSettings
package import GRDB
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

/// The settings of a connection that make it ignore programs in the database's file.
///
/// Threat (G3, G4): a file that was altered once may contain a trigger that undoes every count in the transaction that
/// writes it. Every connection that reads a store's tables has these settings before its first statement. Temporary
/// triggers, which a connection makes for itself, still run.
package enum HardenedConnection {
    /// - Throws: `DatabaseError`.
    package static func harden(_ database: Database) throws {
        let code = unsafe Self.harden(database.sqliteConnection)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// Returns SQLite's result code.
    static func harden(_ connection: OpaquePointer?) -> Int32 { unsafe sqlite_settings_harden(connection) }
}

/// Checks of a database that is not open on any connection: its structure (`PRAGMA integrity_check`) and its schema.
package enum StructureCheck {
    /// The maximum number of findings to report.
    private static let most = 20

    /// Reads the whole file and returns SQLite's findings, empty if the file is sound.
    ///
    /// The findings include rows that cannot be found by their index, which `PRAGMA quick_check` does not look for.
    /// This takes up to three times as long as reading the file, or longer if the file does not fit into memory, and
    /// blocks the calling thread.
    package static func findings(in path: String) -> [String] {
        var findings: [String] = []
        do throws(UnchangedDatabase.Failure) {
            // rule: store-copy-index-unchecked
            try UnchangedDatabase(path).forEachRow(of: "PRAGMA integrity_check(\(Self.most))") { row in
                if let text = row.text(0), text != "ok" { findings.append(text) }
            }
        } catch {
            findings.append("\(error)")
        }
        return findings
    }

    /// Returns the entries of the database's schema, or nil if the file cannot be read.
    package static func schema(of path: String) -> [SchemaEntry]? {
        var entries: [SchemaEntry] = []
        do throws(UnchangedDatabase.Failure) {
            try UnchangedDatabase(path).forEachRow(of: SchemaEntry.query) { row in
                entries.append(
                    SchemaEntry([row.text(0) ?? "", row.text(1) ?? "", row.text(2) ?? "", row.text(3) ?? ""])
                )
            }
        } catch {
            return nil
        }
        return entries
    }
}

/// A row of `sqlite_schema`: a table, an index, or another object of a database.
package struct SchemaEntry: Hashable, Sendable {
    package let kind: String
    package let name: String
    package let table: String
    /// The statement that made it, as SQLite stores it, empty for an automatic index.
    package let definition: String

    static let query = "SELECT type, name, tbl_name, sql FROM sqlite_schema"

    init(_ columns: [String]) {
        (self.kind, self.name, self.table, self.definition) = (columns[0], columns[1], columns[2], columns[3])
    }

    /// Returns the entries of an open database.
    package static func all(in database: Database) throws -> [SchemaEntry] {
        try Row.fetchAll(database, sql: Self.query).map { row in
            SchemaEntry((0..<4).map { String.fromDatabaseValue(row[$0]) ?? "" })
        }
    }
}
