package import Yams

/// Parses YAML written by people: settings, stages, scenarios, and device profiles.
package enum YAMLText {
    /// Parses the text to a tree whose nodes have line numbers, or returns nil if the text does not contain a value.
    package static func compose(_ text: String) throws(YAMLFault) -> Node? {
        // A byte order mark is allowed (YAML 1.2.2 §5.2), but libyaml expects `---` after it if the text is a String.
        let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        if let alias = YAMLAliases.first(in: text) {
            throw YAMLFault(
                line: alias.line,
                message: "`*\(alias.name)` is an alias; aliases are not supported, write the value out"
            )
        }
        do {
            return try Yams.compose(yaml: text)
        } catch {
            // JSON is YAML, except for these pairs.
            let joined = Self.joiningSurrogates(in: text)
            if joined != text, let node = try? Yams.compose(yaml: joined) { return node }
            throw YAMLFault(error)
        }
    }

    /// Replaces the two escapes that JSON has for a character beyond U+FFFF with that of YAML.
    private static func joiningSurrogates(in text: String) -> String {
        text.replacing(/\\(?:\\|u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2}))/) { match in
            guard let first = match.1.flatMap({ UInt32($0, radix: 16) }),
                let second = match.2.flatMap({ UInt32($0, radix: 16) })
            else { return String(match.0) }
            let digits = String(0x10000 + (first & 0x3FF) << 10 + second & 0x3FF, radix: 16)
            return "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
        }
    }
}

/// An error from parsing YAML.
package struct YAMLFault: Error, Hashable, Sendable {
    /// The line, counting from 1, or nil if the error is not confined to a single line.
    package let line: Int?
    package let message: String

    /// Creates an error for a part of the text that is YAML but cannot be used.
    package init(line: Int?, message: String) {
        self.line = line
        self.message = message
    }

    init(_ error: any Error) {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            self.init(line: mark.line, message: "not YAML: \(problem)")
        case .reader(let problem, _, _, _):
            self.init(line: nil, message: "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.map { "`\($0)`" }.sorted().joined(separator: ", ")
            guard let key = keys.first, let later = Self.laterLine(of: key, than: context) else {
                self.init(line: context.mark.line, message: "\(names) is set twice")
                return
            }
            self.init(line: later, message: "\(names) is set twice, first in line \(context.mark.line)")
        default:
            self.init(line: nil, message: "not YAML")
        }
    }

    /// Returns the line of a key's second occurrence, which was most likely added last.
    ///
    /// The parser only reports the first one.
    ///
    /// Returns nil if the second occurrence is not at the start of a line in the same mapping.
    private static func laterLine(of key: String, than first: YamlError.Context) -> Int? {
        let indentation = String(repeating: " ", count: max(0, first.mark.column - 1))
        let lines = first.text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated().dropFirst(first.mark.line) {
            let text = line.drop { $0 == " " }
            if text.isEmpty || text.hasPrefix("#") { continue }
            guard line.hasPrefix(indentation) else { return nil }
            if line.hasPrefix("\(indentation)\(key):") { return index + 1 }
        }
        return nil
    }
}
