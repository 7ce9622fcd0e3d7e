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
