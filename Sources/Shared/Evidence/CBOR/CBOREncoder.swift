internal import Vocabulary

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
