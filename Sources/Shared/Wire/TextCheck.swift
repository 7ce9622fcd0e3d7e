/// A check of all strings in an encoded message.
///
/// protobuf-c returns strings that end at their first zero byte, and it does not verify that they are UTF-8. Threat: a
/// peer hides bytes behind a zero byte. They would be part of what a signature covers, but none of them would be
/// checked. The check walks over the encoded bytes and takes the types from the message's descriptor, so it includes
/// every string field of every message, also in parts of a message that are never read.
enum TextCheck {
    /// Returns whether every string in `message` is UTF-8 without a zero byte.
    ///
    /// Messages are not recursive, so the depth is limited.
    static func passes(_ message: ArraySlice<UInt8>, _ fields: MessageFields) -> Bool {
        var rest = message
        while !rest.isEmpty {
            guard let tag = Self.varint(&rest, atMost: 5) else { return false }
            switch tag & 7 {
            case 0:
                guard Self.varint(&rest, atMost: 10) != nil else { return false }
            case 1:
                guard rest.count >= 8 else { return false }
                rest.removeFirst(8)
            case 2:
                guard let length = Self.varint(&rest, atMost: 5), length <= rest.count else { return false }
                let content = rest.prefix(Int(length))
                rest.removeFirst(Int(length))
                switch fields.kind(of: UInt32(truncatingIfNeeded: tag >> 3)) {
                case .text:
                    guard !content.contains(0), String(validating: content, as: UTF8.self) != nil else { return false }
                case .part(let fields):
                    guard Self.passes(content, fields) else { return false }
                case .other: break
                }
            case 5:
                guard rest.count >= 4 else { return false }
                rest.removeFirst(4)
            default: return false
            }
        }
        return true
    }

    /// Removes a variable-length number from the front, and returns its lowest 64 bits.
    ///
    /// Returns nil if it has more than `limit` bytes, as protobuf-c does.
    private static func varint(_ bytes: inout ArraySlice<UInt8>, atMost limit: Int) -> UInt64? {
        var value: UInt64 = 0
        for (place, byte) in bytes.prefix(limit).enumerated() {
            value |= UInt64(byte & 0x7F) << (7 * place)
            if byte < 0x80 {
                bytes.removeFirst(place + 1)
                return value
            }
        }
        return nil
    }
}
