internal import Vocabulary

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
