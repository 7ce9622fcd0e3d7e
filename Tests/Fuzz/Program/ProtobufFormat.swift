/// The wire format of protobuf messages.
///
/// The bytes of a varint field are its value, with the least significant byte first and without trailing zeros.
enum ProtobufFormat {
    private static let highestField: UInt64 = 128
    private static let (varint, fixed64, lengthDelimited, fixed32) = (UInt8(0), UInt8(1), UInt8(2), UInt8(5))

    static func nodes(of bytes: ArraySlice<UInt8>, depth: Int) -> [Node]? {
        var rest = bytes
        var nodes: [Node] = []
        while !rest.isEmpty {
            guard let key = self.takeVarint(&rest), (1...self.highestField).contains(key >> 3) else { return nil }
            let header = self.encoded(key)
            let content: Node.Content
            switch UInt8(key & 7) {
            case self.varint:
                guard let value = self.takeVarint(&rest) else { return nil }
                content = .bytes(self.littleEndian(value))
            case self.fixed64:
                guard let bytes = rest.take(8) else { return nil }
                content = .bytes(bytes)
            case self.fixed32:
                guard let bytes = rest.take(4) else { return nil }
                content = .bytes(bytes)
            case self.lengthDelimited:
                guard let count = self.takeVarint(&rest), let bytes = rest.take(Int(clamping: count)) else {
                    return nil
                }
                content = InputFormat.content(bytes, [.der, .cbor, .protobuf], depth: depth)
            default: return nil
            }
            nodes.append(Node(header, content))
        }
        return nodes
    }

    static func bytes(of node: Node) -> [UInt8] {
        let bytes = node.bytes
        switch (node.header.first ?? 0) & 7 {
        case self.varint: return node.header + self.encoded(self.number(bytes))
        case self.fixed64: return node.header + (bytes + [UInt8](repeating: 0, count: 8)).prefix(8)
        case self.fixed32: return node.header + (bytes + [UInt8](repeating: 0, count: 4)).prefix(4)
        case self.lengthDelimited: return node.header + self.encoded(UInt64(bytes.count)) + bytes
        default: return node.header + bytes
        }
    }

    /// The value of a varint field's bytes.
    static func number(_ bytes: [UInt8]) -> UInt64 { bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    private static func littleEndian(_ value: UInt64) -> [UInt8] {
        var (rest, bytes): (UInt64, [UInt8]) = (value, [])
        while rest > 0 {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
        return bytes
    }

    private static func encoded(_ value: UInt64) -> [UInt8] {
        var (rest, bytes): (UInt64, [UInt8]) = (value, [])
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    private static func takeVarint(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for place in 0..<10 {
            guard let byte = bytes.popFirst() else { return nil }
            value |= UInt64(byte & 0x7F) << UInt64(7 * place)
            if byte < 0x80 { return value }
        }
        return nil
    }
}

extension Node {
    static func data(_ field: UInt8, _ bytes: [UInt8]) -> Node { Node(Self.key(field, wire: 2), .bytes(bytes)) }
    static func text(_ field: UInt8, _ text: String) -> Node { .data(field, Array(text.utf8)) }
    static func message(_ field: UInt8, _ nodes: [Node]) -> Node {
        Node(Self.key(field, wire: 2), .nodes(nodes, .protobuf))
    }
    static func number(_ field: UInt8, _ value: UInt8) -> Node {
        Node(Self.key(field, wire: 0), .bytes(value == 0 ? [] : [value]))
    }

    private static func key(_ number: UInt8, wire: UInt8) -> [UInt8] {
        number < 16 ? [number << 3 | wire] : [number << 3 | wire | 0x80, number >> 4]
    }

    /// The number of a protobuf field below 128.
    var field: UInt8 {
        guard let first = self.header.first else { return 0 }
        return first >> 3 & 15 | (self.header.count > 1 ? self.header[1] << 4 : 0)
    }
}

extension [Node] {
    /// The first field with this number.
    func first(_ field: UInt8) -> Node? { self.first { $0.field == field } }

    /// Replaces the content of the first field with this number, if its bytes are the expected ones.
    mutating func replace(_ field: UInt8, if expected: String, by bytes: @autoclosure () -> [UInt8]?) {
        guard let index = self.firstIndex(where: { $0.field == field }), self[index].bytes == [UInt8](expected.utf8),
            let bytes = bytes()
        else { return }
        self[index].content = .bytes(bytes)
    }
}
