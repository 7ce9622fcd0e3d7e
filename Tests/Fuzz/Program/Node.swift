/// A part of a structured input: a protobuf field, a DER value, a CBOR item, a JSON value, a line or a form's field.
struct Node: Hashable {
    /// The bytes before the length or the value: a protobuf key, a DER tag, the first byte of a CBOR item without its
    /// argument, the first character of a JSON value, a line's indentation and key, or a field's name.
    var header: [UInt8]
    var content: Content

    indirect enum Content: Hashable {
        case bytes([UInt8])
        case nodes([Node], InputFormat)
    }

    init(_ header: [UInt8], _ content: Content) {
        self.header = header
        self.content = content
    }

    /// The content in its encoding.
    var bytes: [UInt8] {
        switch self.content {
        case .bytes(let bytes): bytes
        case .nodes(let nodes, let format): format.bytes(of: nodes)
        }
    }

    /// The parts of the content, or none if it is plain bytes.
    var children: [Node] {
        get { if case .nodes(let nodes, _) = self.content { nodes } else { [] } }
        set { if case .nodes(_, let format) = self.content { self.content = .nodes(newValue, format) } }
    }
}

/// The encodings whose structure mutations keep.
enum InputFormat: Hashable {
    case protobuf, der, cbor, json, lines, form

    /// Splits bytes into their parts, recursively.
    ///
    /// Returns nil unless ``bytes(of:)`` gives the same bytes again.
    func nodes(of bytes: [UInt8], depth: Int = 0) -> [Node]? {
        guard !bytes.isEmpty, depth < Self.deepest else { return nil }
        let nodes: [Node]? =
            switch self {
            case .protobuf: ProtobufFormat.nodes(of: bytes[...], depth: depth)
            case .der: DERFormat.nodes(of: bytes[...], depth: depth)
            case .cbor: CBORFormat.nodes(of: bytes[...], depth: depth)
            case .json: JSONFormat.nodes(of: bytes[...], depth: depth)
            case .lines: LinesFormat.nodes(of: bytes[...], depth: depth)
            case .form: FormFormat.nodes(of: bytes[...])
            }
        guard let nodes, self.bytes(of: nodes) == bytes else { return nil }
        return nodes
    }

    func bytes(of nodes: [Node]) -> [UInt8] {
        switch self {
        case .protobuf: nodes.flatMap(ProtobufFormat.bytes(of:))
        case .der: nodes.flatMap(DERFormat.bytes(of:))
        case .cbor: nodes.flatMap(CBORFormat.bytes(of:))
        case .json: nodes.map(JSONFormat.bytes(of:)).joined(by: ",")
        case .lines: LinesFormat.bytes(of: nodes)
        case .form: FormFormat.bytes(of: nodes)
        }
    }

    /// The maximum number of levels in a structure.
    static let deepest = 24

    /// Returns bytes inside another structure as parts in the first of these formats that fits, or unchanged if none
    /// does.
    static func content(_ bytes: [UInt8], _ formats: [InputFormat], depth: Int) -> Node.Content {
        for format in formats {
            if let nodes = format.nodes(of: bytes, depth: depth + 1) { return .nodes(nodes, format) }
        }
        return .bytes(bytes)
    }
}

extension ArraySlice<UInt8> {
    /// Removes and returns the first bytes, or returns nil if there are fewer.
    mutating func take(_ count: Int) -> [UInt8]? {
        guard count >= 0, count <= self.count else { return nil }
        defer { self.removeFirst(count) }
        return Array(self.prefix(count))
    }

    /// Removes and returns a big-endian number of at most 7 bytes.
    mutating func takeNumber(byteCount: Int) -> Int? {
        guard byteCount < 8, let bytes = self.take(byteCount) else { return nil }
        return bytes.reduce(0) { $0 << 8 | Int($1) }
    }
}
