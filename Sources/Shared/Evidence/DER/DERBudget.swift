/// Bounds what parsing may cost before anything is parsed.
///
/// swift-asn1 keeps some hundred bytes for each value, so 32 KiB of values of two bytes would make it hold more than
/// 4 MiB. The headers are counted first, with nothing kept.
enum DERBudget {
    /// How many values one structure may have; real certificates have some hundred.
    static let maximumValues = 2048

    /// Whether there are no more values than that; says nothing on whether they are well formed.
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

    /// The announced length, with `position` behind it; nil where the bytes end first, which the parser refuses.
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
