/// A table for the terminal and the HTML page.
///
/// The template reads the stored properties by name.
struct ReportTable {
    /// A cell, with its text and the CSS class used on the page.
    struct Cell: ExpressibleByStringInterpolation {
        let text: String
        var style = ""

        init(_ text: String, style: String = "") {
            self.text = text
            self.style = style
        }

        init(stringLiteral text: String) { self.init(text) }
    }

    /// A row, with its heading and the other cells.
    struct Row {
        let head: Cell
        let cells: [Cell]
    }

    let caption: String
    /// Whether to hide the caption because a heading on the page already says the same.
    var isCaptionHidden = true
    let columns: [String]
    /// Whether every column is left-aligned.
    ///
    /// Otherwise, only the first one is.
    var isLeft = false
    private(set) var rows: [Row] = []

    init(_ caption: String, columns: [String], isLeft: Bool = false, isCaptionHidden: Bool = true) {
        self.caption = caption
        self.columns = columns
        self.isLeft = isLeft
        self.isCaptionHidden = isCaptionHidden
    }

    mutating func add(_ head: Cell, _ cells: [Cell]) { self.rows.append(Row(head: head, cells: cells)) }

    mutating func add(_ head: Cell, _ cells: [String]) { self.add(head, cells.map { Cell($0) }) }

    /// The lines for a terminal, with aligned columns and no trailing spaces.
    var lines: [String] {
        let head = self.columns.isEmpty ? [] : [self.columns]
        let rows = head + self.rows.map { [$0.head.text] + $0.cells.map(\.text) }
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let fields = row.enumerated().map { column, field in
                let padding = String(repeating: " ", count: widths[column] - field.count)
                return column == 0 || self.isLeft ? field + padding : padding + field
            }
            let line = fields.joined(separator: "  ")
            return line.lastIndex { $0 != " " }.map { String(line[...$0]) } ?? ""
        }
    }
}

/// A heading with text, items and tables, for the terminal and the HTML page.
struct ReportPart {
    let heading: String
    /// Either `passed` or `failed`.
    ///
    /// Also used as a CSS class.
    var verdict: String?
    /// A CSS class used on the page.
    var partStyle: String?
    var sentences: [String] = []
    var items: [String] = []
    var tables: [ReportTable] = []

    /// The lines for a terminal.
    var lines: [String] {
        let verdict = self.verdict.map { $0 == "failed" ? ": FAILED" : ": \($0)" } ?? ""
        let tables = self.tables.flatMap { ($0.isCaptionHidden ? [] : ["\($0.caption):"]) + $0.lines }
        return [self.heading + verdict]
            + (self.sentences + self.items + tables).map { "  \($0)" }
    }
}
