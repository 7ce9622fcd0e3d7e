/// DER values with definite lengths in their shortest form.
enum DERFormat {
    private static let (bitString, octetString): (UInt8, UInt8) = (0x03, 0x04)
    private static let constructed: UInt8 = 0x20

    static func nodes(of bytes: ArraySlice<UInt8>, depth: Int) -> [Node]? {
        var rest = bytes
        var nodes: [Node] = []
        while !rest.isEmpty {
            guard let header = self.takeTag(&rest), let count = self.takeLength(&rest), let bytes = rest.take(count)
            else { return nil }
            if header[0] & self.constructed != 0, !bytes.isEmpty {
                guard let children = InputFormat.der.nodes(of: bytes, depth: depth + 1) else { return nil }
                nodes.append(Node(header, .nodes(children, .der)))
            } else if header == [self.octetString], bytes.count > 1 {
                nodes.append(Node(header, InputFormat.content(bytes, [.der], depth: depth)))
            } else {
                nodes.append(Node(header, .bytes(bytes)))
            }
        }
        return nodes
    }

    static func bytes(of node: Node) -> [UInt8] {
        let bytes = node.bytes
        return node.header + self.length(bytes.count) + bytes
    }

    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(count)] }
        let bytes = stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: count >> $0) }.drop { $0 == 0 }
        return [0x80 | UInt8(bytes.count)] + bytes
    }

    private static func takeTag(_ bytes: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard let first = bytes.popFirst() else { return nil }
        guard first & 0x1F == 0x1F else { return [first] }
        var tag = [first]
        while tag.count < 5, let byte = bytes.popFirst() {
            tag.append(byte)
            if byte < 0x80 { return tag }
        }
        return nil
    }

    private static func takeLength(_ bytes: inout ArraySlice<UInt8>) -> Int? {
        guard let first = bytes.popFirst() else { return nil }
        guard first >= 0x80 else { return Int(first) }
        return (1...4).contains(first & 0x7F) ? bytes.takeNumber(byteCount: Int(first & 0x7F)) : nil
    }
}

extension Node {
    static let sequenceTag: [UInt8] = [0x30]

    /// A DER BIT STRING of whole bytes.
    static func bitString(_ bytes: [UInt8]) -> Node { Node([0x03], .bytes([0] + bytes)) }

    /// Calls `change` with the value after an object identifier, wherever it is.
    mutating func changeValue(after identifier: [UInt8], _ change: (inout Node) -> Void) {
        var children = self.children
        guard !children.isEmpty else { return }
        let isFound = children[0].header == [0x06] && children[0].bytes == identifier
        for index in children.indices {
            // A critical extension has a BOOLEAN between the two.
            if isFound, index > 0, children[index].header == [0x04] { change(&children[index]) }
            children[index].changeValue(after: identifier, change)
        }
        self.children = children
    }
}
