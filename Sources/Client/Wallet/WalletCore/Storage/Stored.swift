internal import Vocabulary

/// The file format for an identifier: lowercase hexadecimal.
struct StoredID<Kind: FixedBytesKind>: Codable, Hashable, Sendable {
    let value: FixedBytes<Kind>

    init(_ value: FixedBytes<Kind>) {
        self.value = value
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = FixedBytes<Kind>(hex: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(Kind.byteCount) bytes in hex")
        }
        self.value = value
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.value.description)
    }
}

/// The file format for bytes: lowercase hexadecimal.
struct StoredBytes: Codable, Hashable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let bytes = [UInt8](hex: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "bytes in hex")
        }
        self.bytes = bytes
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.bytes.hex)
    }
}
