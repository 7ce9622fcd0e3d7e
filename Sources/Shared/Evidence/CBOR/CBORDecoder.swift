extension CBOR {
    /// The maximum nesting depth.
    ///
    /// Apple's objects have three levels.
    package static let maximumDepth = 8
    /// The maximum number of items in an encoding.
    ///
    /// Apple's objects have about thirty.
    ///
    /// This limits memory use. The decoder never reserves memory based on a length it has read, and only copies bytes
    /// that actually exist.
    package static let maximumItems = 1024

    /// Decodes exactly one item.
    ///
    /// Trailing bytes are not allowed.
    package init(decoding bytes: [UInt8]) throws(CBORError) {
        var decoder = CBORDecoder(bytes[...], isStrict: true)
        self = try decoder.item(depth: 1)
        guard decoder.rest.isEmpty else { throw .trailingBytes(decoder.rest.count) }
    }

    /// Decodes one item from the start of `bytes`, leaving the rest.
    package init(decodingPrefixOf bytes: inout ArraySlice<UInt8>) throws(CBORError) {
        var decoder = CBORDecoder(bytes, isStrict: true)
        self = try decoder.item(depth: 1)
        bytes = decoder.rest
    }

    /// Decodes a sequence of items in any well-formed encoding (RFC 8949 §5.1), within the same limits.
    ///
    /// - Returns: The items, and whether the strict decoder would accept each of them.
    package static func items(leniently bytes: ArraySlice<UInt8>) throws(CBORError) -> (items: [CBOR], isStrict: Bool) {
        var decoder = CBORDecoder(bytes, isStrict: false)
        var items: [CBOR] = []
        while !decoder.rest.isEmpty { items.append(try decoder.item(depth: 1)) }
        return (items, !decoder.hasDeviated)
    }
}

/// A decoder that accepts exactly one encoding of each value, or every well-formed encoding.
private struct CBORDecoder {
    private(set) var rest: ArraySlice<UInt8>
    private let isStrict: Bool
    /// Whether a lenient decoder has accepted something that a strict one rejects.
    private(set) var hasDeviated = false
    private var itemsLeft = CBOR.maximumItems

    private static let end: UInt8 = 0xFF
    private static let indefinite: UInt8 = 31

    init(_ bytes: ArraySlice<UInt8>, isStrict: Bool) {
        self.rest = bytes
        self.isStrict = isStrict
    }

    mutating func item(depth: Int) throws(CBORError) -> CBOR {
        guard depth <= CBOR.maximumDepth else { throw .tooDeep }
        let start = self.rest
        let head = try self.head()
        let (major, isIndefinite) = (head >> 5, head & 0x1F == Self.indefinite)
        if isIndefinite, (2...5).contains(major) {
            try self.deviate(.indefiniteLength)
        }
        switch major {
        case 0: return .unsigned(try self.argument(of: head))
        case 1: return .negative(try self.argument(of: head))
        case 2: return .bytes(try self.string(head))
        case 3:
            if let text = String(validating: try self.string(head), as: UTF8.self) { return .text(text) }
            try self.deviate(.notUTF8)
        case 4: return .array(try self.elements(isIndefinite ? nil : try self.argument(of: head), depth: depth))
        case 5: return .map(try self.entries(isIndefinite ? nil : try self.argument(of: head), depth: depth))
        case 6:
            try self.deviate(.unsupported(head))
            _ = try self.argument(of: head)
            _ = try self.item(depth: depth + 1)
        default:
            if let simple = try self.simple(head) { return simple }
        }
        return .other(Array(start[..<self.rest.startIndex]))
    }

    /// Records that the encoding is not the strict one.
    private mutating func deviate(_ error: CBORError) throws(CBORError) {
        guard !self.isStrict else { throw error }
        self.hasDeviated = true
    }

    /// Takes the first byte of an item, or of a part of a string.
    private mutating func head() throws(CBORError) -> UInt8 {
        guard self.itemsLeft > 0 else { throw .tooManyItems }
        self.itemsLeft -= 1
        return try self.take(1).first ?? 0
    }

    /// Decodes a boolean or null.
    ///
    /// Returns nil after skipping any other simple value or a floating-point number.
    private mutating func simple(_ head: UInt8) throws(CBORError) -> CBOR? {
        switch head {
        case 0xF4: return .boolean(false)
        case 0xF5: return .boolean(true)
        case 0xF6: return .null
        case 0xE0...0xF3, 0xF7: try self.deviate(.unsupported(head))
        case 0xF8:
            try self.deviate(.unsupported(head))
            // Smaller values have a form of one byte; this one is not well-formed.
            guard try self.take(1).first ?? 0 >= 32 else { throw .unsupported(head) }
        case 0xF9...0xFB:
            try self.deviate(.unsupported(head))
            _ = try self.take(1 << UInt64(head - 0xF8))
        default: throw .unsupported(head)
        }
        return nil
    }

    /// Decodes the bytes of a string, which may have been sent in parts.
    private mutating func string(_ head: UInt8) throws(CBORError) -> [UInt8] {
        guard head & 0x1F == Self.indefinite else { return Array(try self.take(try self.argument(of: head))) }
        var bytes: [UInt8] = []
        while !self.takesEnd() {
            let part = try self.head()
            guard part >> 5 == head >> 5, part & 0x1F != Self.indefinite else { throw .unsupported(part) }
            bytes += try self.take(try self.argument(of: part))
        }
        return bytes
    }

    /// Decodes `count` elements, or all elements up to the end if the length is indefinite.
    private mutating func elements(_ count: UInt64?, depth: Int) throws(CBORError) -> [CBOR] {
        var elements: [CBOR] = []
        var left = count
        while self.continues(&left) { elements.append(try self.item(depth: depth + 1)) }
        return elements
    }

    /// Decodes a map.
    ///
    /// Duplicate keys are found by comparing encodings, because equal keys have equal strict encodings.
    private mutating func entries(_ count: UInt64?, depth: Int) throws(CBORError) -> [CBOR.Entry] {
        var entries: [CBOR.Entry] = []
        var keys: Set<ArraySlice<UInt8>> = []
        var left = count
        while self.continues(&left) {
            let before = self.rest
            let key = try self.item(depth: depth + 1)
            if !keys.insert(before[..<self.rest.startIndex]).inserted { try self.deviate(.duplicateKey) }
            entries.append(CBOR.Entry(key, try self.item(depth: depth + 1)))
        }
        return entries
    }

    /// Returns whether a container has another element, and counts it.
    private mutating func continues(_ left: inout UInt64?) -> Bool {
        guard let count = left else { return !self.takesEnd() }
        guard count > 0 else { return false }
        left = count - 1
        return true
    }

    /// Takes the end of an item of indefinite length, if it is next.
    private mutating func takesEnd() -> Bool {
        guard self.rest.first == Self.end else { return false }
        self.rest = self.rest.dropFirst()
        return true
    }

    private mutating func argument(of head: UInt8) throws(CBORError) -> UInt64 {
        let information = head & 0x1F
        switch information {
        case 0...23: return UInt64(information)
        case 24...27:
            let width = 1 << Int(information - 24)
            let value = try self.take(UInt64(width)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let smallest: UInt64 = width == 1 ? 24 : 1 << (UInt64(width) * 4)
            if value < smallest { try self.deviate(.notMinimal) }
            return value
        case Self.indefinite: throw .indefiniteLength
        default: throw .unsupported(head)
        }
    }

    private mutating func take(_ count: UInt64) throws(CBORError) -> ArraySlice<UInt8> {
        guard count <= UInt64(self.rest.count) else { throw .truncated }
        let taken = self.rest.prefix(Int(count))
        self.rest = self.rest.dropFirst(Int(count))
        return taken
    }
}
