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
        case .reader(let problem, _, _, _): self.init(line: nil, message: "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.map { "`\($0)`" }.sorted().joined(separator: ", ")
            guard let key = keys.first, let later = Self.laterLine(of: key, than: context) else {
                self.init(line: context.mark.line, message: "\(names) is set twice")
                return
            }
            self.init(line: later, message: "\(names) is set twice, first in line \(context.mark.line)")
        default: self.init(line: nil, message: "not YAML")
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

/// Finds YAML aliases (`*name`), which none of the files we read need.
///
/// Threat: a file of ten short lines, each a list of aliases to the line before, expands to more values than fit into
/// memory, and any code that compares, checks or prints them would visit every one. The parser also visits them when it
/// composes a mapping with such a key, so we have to find aliases in the text before parsing it.
enum YAMLAliases {
    /// Returns the first alias that refers to an anchor in the text, and its line, or nil if there is none.
    ///
    /// Quoted text and comments also count if they contain both `&name` and `*name`, which does not happen in
    /// legitimate files.
    static func first(in text: String) -> (name: String, line: Int)? {
        let bytes = Array(text.utf8)
        var anchors: Set<ArraySlice<UInt8>> = []
        var aliases: [(name: ArraySlice<UInt8>, line: Int)] = []
        var line = 1
        for place in bytes.indices {
            let byte = bytes[place]
            if byte == UInt8(ascii: "\n") { line += 1 }
            guard byte == UInt8(ascii: "&") || byte == UInt8(ascii: "*") else { continue }
            let name = bytes[(place + 1)...].prefix(while: Self.isOfName)
            guard !name.isEmpty else { continue }
            if byte == UInt8(ascii: "&") { anchors.insert(name) } else { aliases.append((name, line)) }
        }
        guard let found = aliases.first(where: { anchors.contains($0.name) }) else { return nil }
        return (String(decoding: found.name, as: UTF8.self), found.line)
    }

    /// Returns whether libyaml allows the character in the name of an anchor.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
