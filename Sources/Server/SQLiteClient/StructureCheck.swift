internal import CSQLite

/// A database that is read without changing anything, and that no connection has open.
extension SQLiteDatabase {
    /// Opens a file as immutable, so SQLite takes no locks, reads no log, and changes nothing.
    package convenience init(unchanged path: String) throws(SQLiteFailure) {
        let name = Self.escaped(DatabaseFile.inRealFolder(path))
        try self.init(
            "file:\(name)?immutable=1",
            flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        )
        try self.harden()
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

    /// Makes the connection ignore programs in the database's file.
    ///
    /// Threat (G3, G4): a file that was altered once may contain a trigger that undoes every count in the transaction
    /// that writes it. Every connection that reads a store's tables has these settings before its first statement.
    /// Temporary triggers, which a connection makes for itself, still run.
    package func harden() throws(SQLiteFailure) { try self.require(unsafe CSQLite_harden(self.handle)) }
}

/// Checks of a database that is not open on any connection: its structure (`PRAGMA integrity_check`) and its schema.
package enum StructureCheck {
    /// The maximum number of findings to report.
    private static let limit = 20

    /// Reads the whole file and returns SQLite's findings, empty if the file is sound.
    ///
    /// The findings include rows that cannot be found by their index, which `PRAGMA quick_check` does not look for.
    /// This takes up to three times as long as reading the file, or longer if the file does not fit into memory, and
    /// blocks the calling thread.
    package static func findings(in path: String) -> [String] {
        var findings: [String] = []
        do {
            let database = try SQLiteDatabase(unchanged: path)
            // rule: store-copy-index-unchecked
            try database.statement("PRAGMA integrity_check(\(Self.limit))").forEachRow { row in
                if let text = row.text(0), text != "ok" { findings.append(text) }
            }
        } catch {
            findings.append("the file cannot be read: \(error)")
        }
        return findings
    }

    /// Returns the entries of the database's schema, or nil if the file cannot be read.
    package static func schema(of path: String) -> [SchemaEntry]? {
        try? SchemaEntry.all(in: SQLiteDatabase(unchanged: path))
    }
}

/// A row of `sqlite_schema`: a table, an index, or another object of a database.
package struct SchemaEntry: Hashable, Sendable {
    package let kind: String
    package let name: String
    package let table: String
    /// The statement that made it, as SQLite stores it, empty for an automatic index.
    package let definition: String

    /// Returns the entries of an open database.
    package static func all(in database: SQLiteDatabase) throws(SQLiteFailure) -> [SchemaEntry] {
        try database.run("SELECT type, name, tbl_name, sql FROM sqlite_schema").map { row in
            SchemaEntry(
                kind: row.textIfAny(0) ?? "",
                name: row.textIfAny(1) ?? "",
                table: row.textIfAny(2) ?? "",
                definition: row.textIfAny(3) ?? ""
            )
        }
    }
}
