/// JSON values (RFC 8259) without white space.
///
/// The header of a value is its first character. Numbers, `true`, `false` and `null` have an empty header. The children
/// of an object are its keys and values, alternately.
enum JSONFormat {
    static func nodes(of bytes: ArraySlice<UInt8>, depth: Int) -> [Node]? {
        var rest = bytes
        guard let value = self.takeValue(&rest, depth: depth), rest.isEmpty else { return nil }
        return [value]
    }

    private static func takeValue(_ rest: inout ArraySlice<UInt8>, depth: Int) -> Node? {
        guard depth < InputFormat.deepest, let first = rest.first else { return nil }
        switch Character(UnicodeScalar(first)) {
        case "{": return self.takeItems(&rest, until: "}", betweenItems: [":", ","], depth: depth)
        case "[": return self.takeItems(&rest, until: "]", betweenItems: [","], depth: depth)
        case "\"": return self.takeString(&rest)
        default:
            let word = Array(rest.prefix(while: self.isWordByte))
            rest = rest.dropFirst(word.count)
            return word.isEmpty ? nil : Node([], .bytes(word))
        }
    }

    private static func takeItems(
        _ rest: inout ArraySlice<UInt8>,
        until end: Unicode.Scalar,
        betweenItems separators: [Unicode.Scalar],
        depth: Int
    ) -> Node? {
        guard let first = rest.popFirst() else { return nil }
        var items: [Node] = []
        while rest.first != UInt8(ascii: end) {
            if !items.isEmpty {
                guard rest.popFirst() == UInt8(ascii: separators[(items.count - 1) % separators.count]) else {
                    return nil
                }
            }
            guard let item = self.takeValue(&rest, depth: depth + 1) else { return nil }
            items.append(item)
        }
        rest.removeFirst()
        return Node([first], .nodes(items, .json))
    }

    private static func takeString(_ rest: inout ArraySlice<UInt8>) -> Node? {
        guard let first = rest.popFirst() else { return nil }
        var content: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return Node([first], .bytes(content)) }
            content.append(byte)
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() { content.append(escaped) }
        }
        return nil
    }

    static func bytes(of node: Node) -> [UInt8] {
        switch node.header {
        case [UInt8(ascii: "{")]:
            let pairs = stride(from: 0, to: node.children.count, by: 2).map { place in
                node.children[place..<min(place + 2, node.children.count)].map(self.bytes(of:)).joined(by: ":")
            }
            return [UInt8(ascii: "{")] + pairs.joined(by: ",") + [UInt8(ascii: "}")]
        case [UInt8(ascii: "[")]:
            return [UInt8(ascii: "[")] + node.children.map(self.bytes(of:)).joined(by: ",") + [UInt8(ascii: "]")]
        case [UInt8(ascii: "\"")]: return self.quoted(node.bytes)
        case []:
            let word = node.bytes.filter(self.isWordByte)
            return word.isEmpty ? [UInt8(ascii: "0")] : word
        default: return node.header + node.bytes
        }
    }

    /// Returns a string's content in quotation marks, and escapes the quotation marks inside it.
    private static func quoted(_ content: [UInt8]) -> [UInt8] {
        var (rest, text) = (content[...], [UInt8(ascii: "\"")])
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\\"): text += [byte, rest.popFirst() ?? byte]
            case UInt8(ascii: "\""): text += [UInt8(ascii: "\\"), byte]
            default: text.append(byte)
            }
        }
        return text + [UInt8(ascii: "\"")]
    }

    /// Returns whether a byte can be part of a number or a literal.
    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"): true
        default: false
        }
    }
}

extension [[UInt8]] {
    func joined(by separator: Unicode.Scalar) -> [UInt8] { [UInt8](self.joined(separator: [UInt8(ascii: separator)])) }
}
