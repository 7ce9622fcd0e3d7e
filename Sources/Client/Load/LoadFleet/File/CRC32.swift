/// CRC-32 (IEEE 802.3).
///
/// It detects a torn record but not tampering.
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { rest, _ in rest & 1 == 1 ? 0xEDB8_8320 ^ rest >> 1 : rest >> 1 }
    }

    static func of(_ bytes: some Sequence<UInt8>) -> UInt32 {
        let table = self.table
        var rest = ~UInt32(0)
        for byte in bytes { rest = table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] ^ rest >> 8 }
        return ~rest
    }
}
