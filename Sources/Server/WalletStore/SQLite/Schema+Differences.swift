internal import GRDB
internal import PreparedSQL

/// The comparison of a file's schema with the one that the migrations make.
///
/// Invariant (G3, G4): a store with any other object is not served. Connections run no trigger and read no view
/// (``HardenedConnection``), but a changed table may have a column that computes its value, and an unknown index or
/// table shows that another program wrote to the file.
extension Schema {
    /// The entries that each version's migrations make, starting with those of an empty database.
    private static let made: [Set<SchemaEntry>]? = try? DatabaseQueue().inDatabase { db in
        var made: [Set<SchemaEntry>] = [[]]
        for migration in Self.migrations {
            try db.execute(sql: migration)
            made.append(Set(try SchemaEntry.all(in: db)))
        }
        return made
    }

    /// Returns each entry that this program does not make in this version, makes otherwise, or misses; empty if there
    /// is none.
    static func differences(in found: [SchemaEntry], ofVersion version: Int) -> [String] {
        guard let made = Self.made, made.indices.contains(version) else { return ["its version \(version) is unknown"] }
        let other = Set(found).subtracting(made[version])
        let missing = made[version].subtracting(found)
        let changed = Set(other.map(\.title)).intersection(missing.map(\.title))
        // SQLite rejects a schema with two objects of one name when it is parsed, but not when it is read as a table.
        let isRepeated = Set(found).count != found.count
        return other.map { "\($0.title) is \(changed.contains($0.title) ? "changed" : "unknown")" }.sorted()
            + missing.filter { !changed.contains($0.title) }.map { "\($0.title) is missing" }.sorted()
            + (isRepeated ? ["an entry is repeated"] : [])
    }
}

extension SchemaEntry {
    fileprivate var title: String {
        self.name == self.table ? "\(self.kind) \(self.name)" : "\(self.kind) \(self.name) on \(self.table)"
    }
}
