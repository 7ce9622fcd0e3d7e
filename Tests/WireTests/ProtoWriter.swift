/// A protobuf encoder for tests that can produce invalid messages (protobuf.dev, Encoding).
struct ProtoWriter {
    private(set) var bytes: [UInt8] = []

    static func message(_ fill: (inout ProtoWriter) -> Void) -> [UInt8] {
        var writer = ProtoWriter()
        fill(&writer)
        return writer.bytes
    }

    mutating func number(_ field: UInt64, _ value: UInt64) {
        self.varint(field << 3)
        self.varint(value)
    }

    mutating func bytes(_ field: UInt64, _ value: [UInt8]) {
        self.varint(field << 3 | 2)
        self.varint(UInt64(value.count))
        self.bytes += value
    }

    mutating func text(_ field: UInt64, _ value: String) {
        self.bytes(field, Array(value.utf8))
    }

    mutating func message(_ field: UInt64, _ fill: (inout ProtoWriter) -> Void) {
        self.bytes(field, Self.message(fill))
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }
}
