/// Finds YAML's aliases (`*name`), which no file that is read here needs.
///
/// Threat: somebody is given a file of ten short lines, each a list of aliases to the one before; its values are more than
/// any memory holds, and whoever compares, checks or prints them meets each one. A parser has met them itself by the time
/// it has composed a mapping with such a key, so they are found in the text, before it is parsed.
enum YAMLAliases {
    /// The first alias of the text to an anchor that the text has, and its line; nil where there is none.
    ///
    /// Quoted text and comments count, too, where both `&name` and `*name` stand in them: no file means that.
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

    /// What an anchor's name is made of, as libyaml has it.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
