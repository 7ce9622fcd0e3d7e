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
        var decoder = CBORDecoder(bytes[...])
        self = try decoder.item(depth: 1)
        guard decoder.rest.isEmpty else { throw .trailingBytes(decoder.rest.count) }
    }

    /// Decodes one item from the start of `bytes`, leaving the rest.
    package init(decodingPrefixOf bytes: inout ArraySlice<UInt8>) throws(CBORError) {
        var decoder = CBORDecoder(bytes)
        self = try decoder.item(depth: 1)
        bytes = decoder.rest
    }
}

/// A strict decoder that accepts exactly one encoding of each value.
private struct CBORDecoder {
    private(set) var rest: ArraySlice<UInt8>
    private var itemsLeft = CBOR.maximumItems

    init(_ bytes: ArraySlice<UInt8>) {
        self.rest = bytes
    }

    mutating func item(depth: Int) throws(CBORError) -> CBOR {
        guard depth <= CBOR.maximumDepth else { throw .tooDeep }
        guard self.itemsLeft > 0 else { throw .tooManyItems }
        self.itemsLeft -= 1
        let head = try self.take(1).first ?? 0
        if head >> 5 == 7 { return try Self.simple(head) }
        let argument = try self.argument(of: head)
        switch head >> 5 {
        case 0: return .unsigned(argument)
        case 1: return .negative(argument)
        case 2: return .bytes(Array(try self.take(argument)))
        case 3:
            guard let text = String(validating: try self.take(argument), as: UTF8.self) else { throw .notUTF8 }
            return .text(text)
        case 4: return .array(try self.elements(argument, depth: depth))
        case 5: return .map(try self.entries(argument, depth: depth))
        default: throw .unsupported(head)
        }
    }

    private static func simple(_ head: UInt8) throws(CBORError) -> CBOR {
        switch head {
        case 0xF4: .boolean(false)
        case 0xF5: .boolean(true)
        case 0xF6: .null
        default: throw .unsupported(head)
        }
    }

    private mutating func elements(_ count: UInt64, depth: Int) throws(CBORError) -> [CBOR] {
        var elements: [CBOR] = []
        var left = count
        while left > 0 {
            elements.append(try self.item(depth: depth + 1))
            left -= 1
        }
        return elements
    }

    /// Decodes a map.
    ///
    /// Duplicate keys are found by comparing encodings, because equal keys have equal encodings.
    private mutating func entries(_ count: UInt64, depth: Int) throws(CBORError) -> [CBOR.Entry] {
        var entries: [CBOR.Entry] = []
        var keys: Set<ArraySlice<UInt8>> = []
        var left = count
        while left > 0 {
            let before = self.rest
            let key = try self.item(depth: depth + 1)
            guard keys.insert(before[..<self.rest.startIndex]).inserted else { throw .duplicateKey }
            entries.append(CBOR.Entry(key, try self.item(depth: depth + 1)))
            left -= 1
        }
        return entries
    }

    private mutating func argument(of head: UInt8) throws(CBORError) -> UInt64 {
        let information = head & 0x1F
        switch information {
        case 0...23: return UInt64(information)
        case 24...27:
            let width = 1 << Int(information - 24)
            let value = try self.take(UInt64(width)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let smallest: UInt64 = width == 1 ? 24 : 1 << (UInt64(width) * 4)
            guard value >= smallest else { throw .notMinimal }
            return value
        case 31: throw .indefiniteLength
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
