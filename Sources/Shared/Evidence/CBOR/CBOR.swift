internal import Vocabulary

/// A CBOR item (RFC 8949) of a kind used in attestation.
///
/// Apple's objects do not contain tags, floating-point values, or simple values other than booleans and null. The
/// strict decoder rejects these, so that every value has exactly one encoding. Extension data may come from later
/// systems, so a lenient decoder accepts every well-formed encoding there.
package indirect enum CBOR: Hashable, Sendable {
    case unsigned(UInt64)
    /// The number −1 − n, where n is the associated value.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBOR])
    /// A map with its entries in the order they were encoded.
    ///
    /// Keys are unique.
    case map([Entry])
    case boolean(Bool)
    case null
    /// An item of another kind, as it was encoded; only the lenient decoder returns it.
    case other([UInt8])

    /// A key in a map, and its value.
    package struct Entry: Hashable, Sendable {
        package let key: CBOR
        package let value: CBOR

        package init(_ key: CBOR, _ value: CBOR) {
            self.key = key
            self.value = value
        }
    }

    /// Returns an integer of either sign.
    package static func integer(_ value: Int64) -> CBOR {
        value < 0 ? .negative(UInt64(bitPattern: ~value)) : .unsigned(UInt64(value))
    }

    /// The value for a text key in a map, or nil if this is not a map or the key is missing.
    package subscript(key: String) -> CBOR? { self[.text(key)] }

    /// The value for a key in a map, or nil if this is not a map or the key is missing.
    package subscript(key: CBOR) -> CBOR? {
        guard case .map(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The contents of a byte string, or nil for all other kinds.
    package var byteString: [UInt8]? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes
    }

    package var isMap: Bool {
        guard case .map = self else { return false }
        return true
    }
}

/// An error from decoding a CBOR item.
///
/// The evidence should be rejected.
package enum CBORError: Error, Hashable {
    /// A length exceeds the remaining bytes.
    case truncated
    /// The item is followed by more bytes.
    case trailingBytes(Int)
    /// A length or number is not in its shortest form.
    case notMinimal
    case indefiniteLength, duplicateKey, tooDeep
    /// The encoding has more items than any attestation.
    case tooManyItems
    /// A text is not valid UTF-8.
    case notUTF8
    /// The encoding contains a tag, a float or a reserved form.
    case unsupported(UInt8)
}

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
        if isIndefinite, (2...5).contains(major) { try self.deviate(.indefiniteLength) }
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

    /// Decodes a boolean or null; returns nil after skipping any other simple value or a floating-point number.
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

extension CBOR {
    /// The shortest encoding, with map entries in their current order.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        self.append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .unsigned(let value): Self.appendHead(0, value, to: &bytes)
        case .negative(let value): Self.appendHead(1, value, to: &bytes)
        case .bytes(let value):
            Self.appendHead(2, UInt64(value.count), to: &bytes)
            bytes += value
        case .text(let value):
            Self.appendHead(3, UInt64(value.utf8.count), to: &bytes)
            bytes += value.utf8
        case .array(let elements):
            Self.appendHead(4, UInt64(elements.count), to: &bytes)
            for element in elements { element.append(to: &bytes) }
        case .map(let entries):
            Self.appendHead(5, UInt64(entries.count), to: &bytes)
            for entry in entries {
                entry.key.append(to: &bytes)
                entry.value.append(to: &bytes)
            }
        case .boolean(let value): bytes.append(value ? 0xF5 : 0xF4)
        case .null: bytes.append(0xF6)
        case .other(let encoded): bytes += encoded
        }
    }

    private static func appendHead(_ major: UInt8, _ argument: UInt64, to bytes: inout [UInt8]) {
        switch argument {
        case 0...23: bytes.append(major << 5 | UInt8(argument))
        case 24...0xFF: bytes += [major << 5 | 24, UInt8(argument)]
        case 0x100...0xFFFF: bytes += [major << 5 | 25] + argument.bigEndianBytes.suffix(2)
        case 0x1_0000...0xFFFF_FFFF: bytes += [major << 5 | 26] + argument.bigEndianBytes.suffix(4)
        default: bytes += [major << 5 | 27] + argument.bigEndianBytes
        }
    }
}
