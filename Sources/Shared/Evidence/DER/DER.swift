internal import SwiftASN1
internal import Vocabulary

/// An error from reading a DER structure.
///
/// The evidence should be rejected.
package enum DERError: Error, Hashable {
    /// The bytes are not a DER value, or other bytes follow it.
    case notDER
    /// The structure has more values than any certificate.
    case tooManyValues
    /// A value has an unexpected type.
    case expected(String)
    case missing(String)
    /// A number has too many bytes or is not in its shortest form.
    case number
    /// A date cannot be parsed.
    case time
}

/// A value in a parsed DER structure, with the accessors needed for certificates.
///
/// It is deliberately lenient about deviations found in real devices (0x01 as BOOLEAN true, NULL parameters), but
/// strict about anything that could be used to hide data: every structure is read to the end.
struct DERNode {
    private let node: ASN1Node

    /// Parses exactly one value.
    ///
    /// Trailing bytes are not allowed.
    init(parsing bytes: [UInt8]) throws(DERError) {
        guard DERBudget.admits(bytes) else { throw .tooManyValues }
        do { self.node = try DER.parse(bytes) } catch { throw .notDER }
    }

    /// Parses exactly one BER value, which may have indefinite lengths.
    init(parsingBER bytes: [UInt8]) throws(DERError) {
        guard DERBudget.admits(bytes) else { throw .tooManyValues }
        do { self.node = try BER.parse(bytes) } catch { throw .notDER }
    }

    private init(_ node: ASN1Node) { self.node = node }

    /// The entire value, with its tag, length and content.
    var encoded: [UInt8] { Array(self.node.encodedBytes) }

    /// The number of a context-specific tag, or nil for tags of any other class.
    var contextTag: UInt? {
        self.node.identifier.tagClass == .contextSpecific ? self.node.identifier.tagNumber : nil
    }

    /// Returns the content of a primitive value.
    func primitive(_ expectation: String) throws(DERError) -> [UInt8] {
        guard case .primitive(let content) = self.node.content else { throw .expected(expectation) }
        return Array(content)
    }

    /// Returns the members of a constructed value.
    func children(_ expectation: String) throws(DERError) -> [DERNode] {
        guard case .constructed(let nodes) = self.node.content else { throw .expected(expectation) }
        return nodes.map { DERNode($0) }
    }

    /// Returns the only value under an explicit tag.
    func onlyChild(_ expectation: String) throws(DERError) -> DERNode {
        let children = try self.children(expectation)
        guard children.count == 1 else { throw .expected(expectation) }
        return children[0]
    }

    func isUniversal(_ number: UInt) -> Bool {
        self.node.identifier.tagClass == .universal && self.node.identifier.tagNumber == number
    }
}

/// The universal tags used here (X.680 §8.4).
enum DERTag {
    static let boolean: UInt = 1
    static let integer: UInt = 2
    static let bitString: UInt = 3
    static let octetString: UInt = 4
    static let null: UInt = 5
    static let objectIdentifier: UInt = 6
    static let enumerated: UInt = 10
    static let utf8String: UInt = 12
    static let sequence: UInt = 16
    static let set: UInt = 17
    static let utcTime: UInt = 23
    static let generalizedTime: UInt = 24
}

extension DERNode {
    func sequence(_ expectation: String = "SEQUENCE") throws(DERError) -> [DERNode] {
        guard self.isUniversal(DERTag.sequence) else { throw .expected(expectation) }
        return try self.children(expectation)
    }

    func set(_ expectation: String = "SET") throws(DERError) -> [DERNode] {
        guard self.isUniversal(DERTag.set) else { throw .expected(expectation) }
        return try self.children(expectation)
    }

    func octetString(_ expectation: String = "OCTET STRING") throws(DERError) -> [UInt8] {
        guard self.isUniversal(DERTag.octetString) else { throw .expected(expectation) }
        return try self.primitive(expectation)
    }

    /// Returns the bytes of an OCTET STRING, which may be split into pieces in BER.
    func joinedOctets() throws(DERError) -> [UInt8] {
        guard self.isUniversal(DERTag.octetString) else { throw .expected("OCTET STRING") }
        guard let pieces = try? self.children("OCTET STRING") else { return try self.primitive("OCTET STRING") }
        var bytes: [UInt8] = []
        for piece in pieces { bytes += try piece.joinedOctets() }
        return bytes
    }

    /// Returns the raw bytes of an INTEGER in two's complement.
    ///
    /// The result is never empty.
    func integerBytes() throws(DERError) -> [UInt8] {
        guard self.isUniversal(DERTag.integer) else { throw .expected("INTEGER") }
        let bytes = try self.primitive("INTEGER")
        guard let first = bytes.first else { throw .number }
        if bytes.count > 1, first == 0 && bytes[1] < 0x80 || first == 0xFF && bytes[1] >= 0x80 { throw .number }
        return bytes
    }

    func integer() throws(DERError) -> Int128 { try Self.number(try self.integerBytes()) }

    func enumerated() throws(DERError) -> Int128 {
        guard self.isUniversal(DERTag.enumerated) else { throw .expected("ENUMERATED") }
        return try Self.number(try self.primitive("ENUMERATED"))
    }

    /// Returns the value of a BOOLEAN.
    ///
    /// As in BER, any nonzero octet is true, because some devices write 0x01.
    func boolean() throws(DERError) -> Bool {
        guard self.isUniversal(DERTag.boolean) else { throw .expected("BOOLEAN") }
        let bytes = try self.primitive("BOOLEAN")
        guard bytes.count == 1 else { throw .expected("BOOLEAN") }
        return bytes[0] != 0
    }

    /// Whether this BOOLEAN is in DER form, which means 0x00 or 0xFF.
    var isStrictBoolean: Bool {
        guard let octet = try? self.primitive("BOOLEAN").first else { return false }
        return octet == 0 || octet == 0xFF
    }

    func null() throws(DERError) {
        guard self.isUniversal(DERTag.null), try self.primitive("NULL").isEmpty else { throw .expected("NULL") }
    }

    func objectIdentifier() throws(DERError) -> OID {
        guard self.isUniversal(DERTag.objectIdentifier) else { throw .expected("OBJECT IDENTIFIER") }
        guard let identifier = OID(content: try self.primitive("OBJECT IDENTIFIER")) else {
            throw .expected("OBJECT IDENTIFIER")
        }
        return identifier
    }

    /// Returns the bytes of a BIT STRING that consists of whole octets.
    func bitString() throws(DERError) -> [UInt8] {
        guard self.isUniversal(DERTag.bitString) else { throw .expected("BIT STRING") }
        let bytes = try self.primitive("BIT STRING")
        guard bytes.first == 0 else { throw .expected("BIT STRING of whole octets") }
        return Array(bytes.dropFirst())
    }

    private static func number(_ bytes: [UInt8]) throws(DERError) -> Int128 {
        guard let first = bytes.first, bytes.count <= 16 else { throw .number }
        return bytes.reduce(first >= 0x80 ? Int128(-1) : 0) { $0 << 8 | Int128($1) }
    }
}

/// A list of values that is read from front to back.
struct DERMembers {
    private var rest: ArraySlice<DERNode>

    init(_ nodes: [DERNode]) { self.rest = nodes[...] }

    var isEmpty: Bool { self.rest.isEmpty }

    mutating func next(_ name: String) throws(DERError) -> DERNode {
        guard let node = self.rest.popFirst() else { throw .missing(name) }
        return node
    }

    /// Returns the next value if it has the context-specific tag `tag`.
    mutating func next(tagged tag: UInt) -> DERNode? {
        guard self.rest.first?.contextTag == tag else { return nil }
        return self.rest.popFirst()
    }
}

/// A limit on the cost of parsing, checked before anything is parsed.
///
/// swift-asn1 needs several hundred bytes per value, so 32 KiB of two-byte values would take more than 4 MiB. We
/// therefore count the headers first, which does not require any memory.
enum DERBudget {
    /// The maximum number of values in a structure.
    ///
    /// Real certificates have a few hundred.
    static let maximumValues = 2048

    /// Returns whether the number of values is within the limit.
    ///
    /// The values need not be well-formed.
    static func admits(_ bytes: [UInt8]) -> Bool {
        var position = 0
        var count = 0
        while position < bytes.count {
            count += 1
            guard count <= Self.maximumValues else { return false }
            let isConstructed = bytes[position] & 0x20 != 0
            let hasLongTag = bytes[position] & 0x1F == 0x1F
            position += 1
            if hasLongTag {
                while position < bytes.count, bytes[position] & 0x80 != 0 { position += 1 }
                position += 1
            }
            guard let content = Self.skipLength(bytes, &position) else { return true }
            if !isConstructed { position += content }
        }
        return true
    }

    /// Reads a length and moves `position` past it.
    ///
    /// Returns nil if the bytes end before that, in which case the parser will reject them.
    private static func skipLength(_ bytes: [UInt8], _ position: inout Int) -> Int? {
        guard position < bytes.count else { return nil }
        let first = bytes[position]
        position += 1
        guard first & 0x80 != 0 else { return Int(first) }
        let digits = Int(first & 0x7F)
        guard digits <= 4, position + digits <= bytes.count else { return nil }
        let length = bytes[position..<position + digits].reduce(0) { $0 << 8 | Int($1) }
        position += digits
        return length
    }
}

/// Writes DER values (X.690).
///
/// All functions return the tag, length and content.
enum DERWriter {
    static func value(_ tag: [UInt8], _ content: [UInt8]) -> [UInt8] {
        tag + Self.length(content.count) + content
    }

    static func sequence(_ members: [UInt8]...) -> [UInt8] { Self.value([0x30], members.flatMap { $0 }) }

    static func sequence(of members: [[UInt8]]) -> [UInt8] { Self.value([0x30], members.flatMap { $0 }) }

    /// Returns a SET whose members are sorted by their encodings, as required by DER.
    static func set(of members: [[UInt8]]) -> [UInt8] {
        Self.value([0x31], members.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 })
    }

    static func octetString(_ bytes: [UInt8]) -> [UInt8] { Self.value([0x04], bytes) }

    static func bitString(_ bytes: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] {
        Self.value([0x03], [unusedBits] + bytes)
    }

    static func utf8String(_ text: String) -> [UInt8] { Self.value([0x0C], Array(text.utf8)) }

    static func objectIdentifier(_ identifier: OID) -> [UInt8] { Self.value([0x06], identifier.content) }

    static func boolean(_ value: Bool) -> [UInt8] { Self.value([0x01], [value ? 0xFF : 0]) }

    static let null: [UInt8] = [0x05, 0x00]

    static func integer(_ value: Int128) -> [UInt8] { Self.value([0x02], Self.twosComplement(value)) }

    static func enumerated(_ value: Int128) -> [UInt8] { Self.value([0x0A], Self.twosComplement(value)) }

    /// Returns a positive INTEGER with the given magnitude, most significant byte first.
    static func integer(magnitude: [UInt8]) -> [UInt8] {
        let digits = Array(magnitude.drop { $0 == 0 })
        guard let first = digits.first else { return [0x02, 0x01, 0x00] }
        return Self.value([0x02], first >= 0x80 ? [0] + digits : digits)
    }

    /// Returns a value with an explicit context-specific tag, or a constructed value with an implicit tag.
    static func tagged(_ tag: UInt, _ content: [UInt8]) -> [UInt8] {
        Self.value(Self.contextTag(tag, constructed: true), content)
    }

    /// Returns a primitive value with an implicit context-specific tag.
    static func implicit(_ tag: UInt, _ content: [UInt8]) -> [UInt8] {
        Self.value(Self.contextTag(tag, constructed: false), content)
    }

    private static func contextTag(_ tag: UInt, constructed: Bool) -> [UInt8] {
        let leading: UInt8 = constructed ? 0xA0 : 0x80
        if tag < 31 { return [leading | UInt8(tag)] }
        var bytes = [UInt8(tag & 0x7F)]
        var rest = tag >> 7
        while rest > 0 {
            bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return [leading | 31] + bytes
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let digits = UInt64(count).bigEndianBytes.drop { $0 == 0 }
        return [0x80 | UInt8(digits.count)] + digits
    }

    private static func twosComplement(_ value: Int128) -> [UInt8] {
        var bytes = value.bigEndianBytes[...]
        while bytes.count > 1,
            bytes[bytes.startIndex] == 0 && bytes[bytes.startIndex + 1] < 0x80
                || bytes[bytes.startIndex] == 0xFF && bytes[bytes.startIndex + 1] >= 0x80
        { bytes = bytes.dropFirst() }
        return Array(bytes)
    }
}
