internal import HostSystem

/// A grid of styled characters.
///
/// Drawing outside its bounds has no effect.
struct Canvas: Hashable, Sendable {
    private struct Cell: Hashable, Sendable {
        var character: Character = " "
        var style = TextStyle.plain
        /// Whether this is the right half of a wide character.
        var isContinued = false
    }

    let size: TerminalSize
    private var rows: [[Cell]]

    init(_ size: TerminalSize) {
        self.size = size
        self.rows = Array(repeating: Array(repeating: Cell(), count: size.columns), count: size.rows)
    }

    /// A rectangle within the grid.
    struct Area: Hashable, Sendable {
        var column: Int
        var row: Int
        var width: Int
        var height: Int
    }

    mutating func write(_ text: String, column: Int, row: Int, _ style: TextStyle = .plain) {
        guard self.rows.indices.contains(row) else { return }
        var column = column
        for character in text {
            let width = Columns.width(character)
            guard column >= 0, column + width <= self.size.columns else { return }
            self.rows[row][column] = Cell(character: character, style: style)
            if width == 2 { self.rows[row][column + 1] = Cell(style: style, isContinued: true) }
            column += width
        }
    }

    /// Draws a box and clears its interior.
    mutating func frame(_ area: Area, _ box: Glyphs.Box, _ style: TextStyle) {
        let line = String(repeating: String(box.horizontal), count: max(0, area.width - 2))
        let space = String(repeating: " ", count: max(0, area.width - 2))
        self.write("\(box.corners[0])\(line)\(box.corners[1])", column: area.column, row: area.row, style)
        for row in area.row + 1..<max(area.row + 1, area.row + area.height - 1) {
            self.write(String(box.vertical), column: area.column, row: row, style)
            self.write(space, column: area.column + 1, row: row)
            self.write(String(box.vertical), column: area.column + area.width - 1, row: row, style)
        }
        let last = area.row + area.height - 1
        self.write("\(box.corners[3])\(line)\(box.corners[2])", column: area.column, row: last, style)
    }

    /// Dims the contents so that whatever is drawn next stands out.
    mutating func fade() {
        for row in self.rows.indices {
            for column in self.rows[row].indices { self.rows[row][column].style = .dim }
        }
    }

    /// The text of each row, split into runs of the same style, without trailing spaces.
    var runs: [[StyledText]] {
        self.rows.map { row in
            var runs: [StyledText] = []
            let end = row.lastIndex { $0.character != " " || $0.style == .selected || $0.isContinued }
            for cell in row[..<(end.map { $0 + 1 } ?? 0)] where !cell.isContinued {
                if runs.last?.style != cell.style { runs.append(StyledText(text: "", style: cell.style)) }
                runs[runs.count - 1].text.append(cell.character)
            }
            return runs
        }
    }

    /// Returns the rows as terminal output without trailing spaces.
    func lines(_ palette: Palette) -> [String] {
        self.runs.map { runs in
            var line = ""
            var style = TextStyle.plain
            for run in runs {
                if run.style != style { line += palette.end + palette.begin(run.style) }
                style = run.style
                line += run.text
            }
            return style == .plain ? line : line + palette.end
        }
    }
}
