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
