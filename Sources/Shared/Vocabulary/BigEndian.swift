// Numbers are stored and signed with the most significant byte first.

extension [UInt8] {
    /// Appends the lowest `byteCount` bytes of a number, at most eight, with the most significant byte first.
    package mutating func append(bigEndian number: UInt64, byteCount: Int) {
        self.append(addingCapacity: byteCount) { bytes in
            var bits = UInt64(8 * byteCount)
            while bits > 0 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: number >> bits))
            }
        }
    }
}

extension ArraySlice<UInt8> {
    /// The value of up to eight bytes, with the most significant byte first.
    package var bigEndian: UInt64 { self.reduce(0) { $0 << 8 | UInt64($1) } }
}

extension FixedWidthInteger {
    /// The bytes of the number, with the most significant byte first.
    package var bigEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (Self.bitWidth - 8 - 8 * $0)) }
    }
}
