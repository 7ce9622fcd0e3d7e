/// Writes HTML: every text goes through here, since a report shows what a server and a plan say.
enum Markup {
    /// A text, also within quotes.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case _ where scalar.value < 0x20 && scalar != "\n" && scalar != "\t": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// An element with a text.
    static func element(_ name: String, _ text: String, _ attributes: String = "") -> String {
        "<\(name)\(attributes.isEmpty ? "" : " " + attributes)>\(Self.escaped(text))</\(name)>"
    }
}

/// A table that a screen reader can follow: a caption, heads with a scope, the first column heading its row.
struct PageTable {
    /// One cell: a text, and a class for its looks.
    struct Cell {
        let text: String
        var style = ""
    }

    let caption: String
    /// Whether the caption is for readers of the whole table only because a heading says the same.
    var isCaptionHidden = false
    let columns: [String]
    /// How many columns hold words and stand to the left.
    var leftColumns = 1
    private(set) var rows: [[Cell]] = []

    init(_ caption: String, isCaptionHidden: Bool = false, columns: [String], leftColumns: Int = 1) {
        self.caption = caption
        self.isCaptionHidden = isCaptionHidden
        self.columns = columns
        self.leftColumns = leftColumns
    }

    mutating func add(_ texts: [String]) { self.rows.append(texts.map { Cell(text: $0) }) }

    mutating func add(cells: [Cell]) { self.rows.append(cells) }

    var html: String {
        var html =
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"\(Markup.escaped(self.caption))\">\n<table>\n"
        html += Markup.element("caption", self.caption, self.isCaptionHidden ? "class=\"hidden\"" : "") + "\n"
        if !self.columns.isEmpty {
            let heads = self.columns.enumerated().map { column, text in
                Markup.element("th", text, "scope=\"col\"" + self.side(column))
            }
            html += "<thead><tr>\(heads.joined())</tr></thead>\n"
        }
        html += "<tbody>\n"
        for row in self.rows {
            let cells = row.enumerated().map { column, cell in
                let style = cell.style.isEmpty ? self.side(column) : " class=\"\(cell.style)\""
                return column == 0
                    ? Markup.element("th", cell.text, "scope=\"row\"" + style)
                    : Markup.element("td", cell.text, String(style.drop { $0 == " " }))
            }
            html += "<tr>\(cells.joined())</tr>\n"
        }
        return html + "</tbody>\n</table>\n</div>\n"
    }

    private func side(_ column: Int) -> String { column < self.leftColumns ? " class=\"left\"" : "" }
}
