/// Rows whose columns stand below each other: the first to the left, the others to the right.
struct TextTable {
    private var rows: [[String]]
    private let leftColumns: Int

    init(columns: [String], leftColumns: Int = 1) {
        self.rows = columns.isEmpty ? [] : [columns]
        self.leftColumns = leftColumns
    }

    mutating func add(_ row: [String]) { self.rows.append(row) }

    /// Each line indented by two, without spaces at its end.
    var lines: [String] {
        let width = self.rows.map(\.count).max() ?? 0
        let widths = (0..<width).map { column in self.rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return self.rows.map { row in
            let fields = row.enumerated().map { column, field in
                column < self.leftColumns ? field.padded(after: widths[column]) : field.padded(to: widths[column])
            }
            let line = "  " + fields.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}
