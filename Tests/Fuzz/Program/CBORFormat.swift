/// CBOR items (RFC 8949) without tags and indefinite lengths.
enum CBORFormat {
    private static let simple: UInt8 = 7

    static func nodes(of bytes: ArraySlice<UInt8>, depth: Int) -> [Node]? {
        var rest = bytes
        var nodes: [Node] = []
        while !rest.isEmpty {
            guard let node = self.takeItem(&rest, depth: depth) else { return nil }
            nodes.append(node)
        }
        return nodes
    }

    private static func takeItem(_ rest: inout ArraySlice<UInt8>, depth: Int) -> Node? {
        guard depth < 24, let first = rest.popFirst() else { return nil }
        let (major, information) = (first >> 5, first & 31)
        if major == self.simple { return information < 24 ? Node([first], .bytes([])) : nil }
        guard information < 28 else { return nil }
        let extra = information < 24 ? 0 : 1 << Int(information - 24)
        if major < 2 {
            guard let argument = rest.take(extra) else { return nil }
            return Node([major << 5], .bytes(extra == 0 ? [information] : argument))
        }
        guard let count = extra == 0 ? Int(information) : rest.takeNumber(byteCount: extra) else { return nil }
        switch major {
        case 2, 3:
            guard let bytes = rest.take(count) else { return nil }
            return Node([major << 5], major == 2 ? InputFormat.content(bytes, [.der], depth: depth) : .bytes(bytes))
        case 4, 5:
            guard count <= rest.count else { return nil }
            var items: [Node] = []
            for _ in 0..<(major == 5 ? 2 * count : count) {
                guard let item = self.takeItem(&rest, depth: depth + 1) else { return nil }
                items.append(item)
            }
            return Node([major << 5], .nodes(items, .cbor))
        default: return nil
        }
    }

    static func bytes(of node: Node) -> [UInt8] {
        let (first, bytes) = (node.header.first ?? 0, node.bytes)
        switch first >> 5 {
        case 0, 1: return self.head(first, bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        case 2, 3: return self.head(first, UInt64(bytes.count)) + bytes
        case 4: return self.head(first, UInt64(node.children.count)) + bytes
        // A key whose value is missing is written all the same, so the count may be wrong.
        case 5: return self.head(first, UInt64(node.children.count / 2)) + bytes
        default: return [first] + bytes
        }
    }

    private static func head(_ first: UInt8, _ argument: UInt64) -> [UInt8] {
        let major = first & 0xE0
        let bytes = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: argument >> UInt64($0)) }
        switch argument {
        case 0...23: return [major | UInt8(argument)]
        case 24...0xFF: return [major | 24] + bytes.suffix(1)
        case 0x100...0xFFFF: return [major | 25] + bytes.suffix(2)
        case 0x1_0000...0xFFFF_FFFF: return [major | 26] + bytes.suffix(4)
        default: return [major | 27] + bytes
        }
    }
}

extension [Node] {
    /// The place of the value of a text key in the items of a CBOR map.
    func valueIndex(of key: String) -> Int? {
        let place = stride(from: 0, to: self.count - 1, by: 2).first { self[$0].bytes == [UInt8](key.utf8) }
        return place.map { $0 + 1 }
    }
}
