/// Lays out text in terminal columns.
enum Columns {
    /// Returns the number of columns a character takes up: two for wide East Asian characters and pictographs,
    /// otherwise one.
    static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first?.value, scalar >= 0x1100 else { return 1 }
        return self.wide.contains { $0.contains(scalar) } ? 2 : 1
    }

    static func width(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + self.width($1) } }

    /// The blocks with East Asian Width W or F, and the pictographs.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]

    /// Removes everything that could move the cursor, change a color or reorder the display.
    ///
    /// Product names, addresses and codes come from settings and servers, which must not be able to draw outside their
    /// area.
    static func harmless(_ text: String, _ palette: Palette) -> String {
        var harmless = ""
        for character in text {
            // Only the scalar is removed, not the digit or letter that it is attached to.
            let rest = String(String.UnicodeScalarView(character.unicodeScalars.filter(self.isHarmless)))
            if rest.isEmpty, character.isWhitespace { harmless.append(" ") }
            for character in rest {
                harmless += palette.hasUnicode || character.isASCII ? String(character) : self.ascii(character)
            }
        }
        return harmless
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        case _: true
        }
    }

    /// Returns the closest ASCII equivalent, or `?` if there is none.
    private static func ascii(_ character: Character) -> String {
        switch character {
        case "…": return "..."
        case "–", "—", "·": return "-"
        case "‘", "’": return "'"
        case "“", "”": return "\""
        case "€": return "EUR"
        case _:
            let base = self.bases[String(character).lowercased()] ?? "?"
            return character.isUppercase ? base.uppercased() : base
        }
    }

    /// The accented letters used in Dutch and neighboring languages.
    private static let bases: [String: String] = {
        var bases: [String: String] = [:]
        for (base, marked) in [
            ("a", "áàâäãå"), ("c", "ç"), ("e", "éèêë"), ("i", "íìîï"), ("n", "ñ"), ("o", "óòôöõø"), ("u", "úùûü"),
            ("y", "ýÿ"), ("ss", "ß"), ("ae", "æ"), ("oe", "œ"), ("ij", "ĳ"),
        ] {
            for letter in marked { bases[String(letter)] = base }
        }
        return bases
    }()

    /// Wraps text at word boundaries.
    ///
    /// Words longer than a line are split.
    static func wrap(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            var word = Substring(word)
            if !line.isEmpty, self.width(line) + 1 + self.width(word) <= width {
                line += " " + word
                continue
            }
            if !line.isEmpty { lines.append(line) }
            while self.width(word) > width {
                let head = self.prefix(word, width)
                lines.append(String(head))
                word = word.dropFirst(head.count)
            }
            line = String(word)
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }

    /// Returns the text if it fits; otherwise truncates it and appends the ellipsis.
    static func fit(_ text: String, to width: Int, _ ellipsis: String) -> String {
        guard self.width(text) > width else { return text }
        return String(self.prefix(text, max(0, width - ellipsis.count))) + ellipsis.prefix(width)
    }

    /// Appends an ellipsis to the text, removing as many words as necessary to make it fit.
    static func cut(_ text: String, to width: Int, _ ellipsis: String) -> String {
        var words = text.split(separator: " ")
        while words.count > 1, self.width(words.joined(separator: " ")) + 1 + self.width(ellipsis) > width {
            words.removeLast()
        }
        return self.fit("\(words.joined(separator: " ")) \(ellipsis)", to: width, ellipsis)
    }

    /// Returns the longest prefix that fits, but at least one character if `width` is positive.
    private static func prefix<Text: StringProtocol>(_ text: Text, _ width: Int) -> Text.SubSequence {
        var (used, count) = (0, 0)
        for character in text {
            used += self.width(character)
            guard used <= width || (count == 0 && width > 0) else { break }
            count += 1
        }
        return text.prefix(count)
    }
}
