// Numbers in everything that is kept or signed stand with their first byte first.

extension [UInt8] {
    /// Appends the lowest `byteCount` bytes of a number, at most eight, the highest of them first.
    public mutating func append(bigEndian number: UInt64, byteCount: Int) {
        self.append(addingCapacity: byteCount) { bytes in
            for index in (0..<byteCount).reversed() {
                bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index)))
            }
        }
    }
}

extension ArraySlice<UInt8> {
    /// The number that at most eight bytes are, the highest first.
    public var bigEndian: UInt64 { self.reduce(0) { $0 << 8 | UInt64($1) } }
}
