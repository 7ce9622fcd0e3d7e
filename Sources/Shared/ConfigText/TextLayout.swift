/// Lays out text with wrapped lines, padded cells and Markdown tables.
package enum TextLayout {
    /// Arranges words in lines of at most `width` characters.
    ///
    /// Longer words get their own line.
    package static func wrapped(_ words: some Sequence<some StringProtocol>, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in words {
            if !line.isEmpty, line.count + word.count + 1 > width {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        return line.isEmpty ? lines : lines + [line]
    }

    /// Pads the text with trailing spaces.
    package static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// Returns the text with characters that a terminal interprets, or that hide or reorder others, as `\u{1B}`.
    ///
    /// Line feeds and tabs stay.
    package static func harmless(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: Self.isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if Self.isControl(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\n", "\t": false
        // Embeddings, overrides and isolates change the order of the characters that follow (UAX #9).
        case "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{200E}", "\u{200F}", "\u{61C}": true
        case _: [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
        }
    }

    /// Does the same as ``harmless(_:)`` for a text that must stay in its line, so that it cannot begin another one.
    ///
    /// Threat: in the log of a GitHub workflow, a line `::error::` is a command.
    package static func harmlessLine(_ text: String) -> String {
        self.harmless(text).replacing("\n", with: "\\u{A}").replacing("\t", with: "\\u{9}")
    }

    /// Returns a Markdown table.
    package static func markdown(_ heading: [String], _ rows: [[String]]) -> String {
        ([heading, heading.map { _ in "---" }] + rows).map { row in
            "| \(row.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ")) |"
        }.joined(separator: "\n")
    }

    /// Returns a Markdown table of the declared keys.
    package static func markdown(_ fields: [Field]) -> String {
        self.markdown(
            ["key", "takes", "description"],
            fields.map { ["`\($0.name)`", ($0.isRequired ? "**required**; " : "") + $0.shape.allowed, $0.text] }
        )
    }
}
