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
