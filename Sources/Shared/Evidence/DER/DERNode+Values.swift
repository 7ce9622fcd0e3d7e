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

    func integer() throws(DERError) -> Int128 {
        try Self.number(try self.integerBytes())
    }

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

    init(_ nodes: [DERNode]) {
        self.rest = nodes[...]
    }

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
