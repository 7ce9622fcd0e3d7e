/// Reads fixed fields and counts from bytes; nil where they end too early.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        self.rest = bytes[...]
    }

    var isAtEnd: Bool { self.rest.isEmpty }

    mutating func read<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        self.read(count: Value.bitWidth / 8)?.reduce(0) { $0 << 8 | Value($1) }
    }

    mutating func read(count: Int) -> [UInt8]? {
        guard count <= self.rest.count else { return nil }
        defer { self.rest = self.rest.dropFirst(count) }
        return Array(self.rest.prefix(count))
    }

    /// ZigZag LEB128 as HdrHistogram has it: at most nine bytes, the ninth of eight bits.
    mutating func readZigZag() -> Int64? {
        var value: UInt64 = 0
        for place in 0..<9 {
            guard let byte = self.rest.popFirst() else { return nil }
            guard place < 8, byte & 0x80 != 0 else {
                value |= UInt64(byte) << (7 * place)
                break
            }
            value |= UInt64(byte & 0x7F) << (7 * place)
        }
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }
}

extension [UInt8] {
    mutating func append(bigEndian value: some FixedWidthInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            self.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// See ``ByteReader/readZigZag()``.
    mutating func append(zigZag value: Int64) {
        var rest = UInt64(bitPattern: (value << 1) ^ (value >> 63))
        for _ in 0..<8 {
            guard rest > 0x7F else { break }
            self.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.append(UInt8(truncatingIfNeeded: rest))
    }
}
