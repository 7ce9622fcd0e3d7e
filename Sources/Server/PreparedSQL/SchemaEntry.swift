package import GRDB

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
