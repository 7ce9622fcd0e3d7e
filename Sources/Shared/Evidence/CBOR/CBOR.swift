/// A CBOR item (RFC 8949) of one of the kinds used by attestation.
///
/// Apple's devices send no tags, floating-point values or simple values other than booleans and null. The decoder
/// rejects them, so that every value has exactly one encoding.
package indirect enum CBOR: Hashable, Sendable {
    case unsigned(UInt64)
    /// The number −1 − n for the n held here.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBOR])
    /// The pairs in the order they were encoded in, without duplicate keys.
    case map([Entry])
    case boolean(Bool)
    case null

    /// One key of a map with its value.
    package struct Entry: Hashable, Sendable {
        package let key: CBOR
        package let value: CBOR

        package init(_ key: CBOR, _ value: CBOR) {
            self.key = key
            self.value = value
        }
    }

    /// An integer of either sign.
    package static func integer(_ value: Int64) -> CBOR {
        value < 0 ? .negative(UInt64(bitPattern: ~value)) : .unsigned(UInt64(value))
    }

    /// The value of a map's text key; nil if this is not a map or does not have the key.
    package subscript(key: String) -> CBOR? { self[.text(key)] }

    /// The value of a map's key; nil if this is not a map or does not have the key.
    package subscript(key: CBOR) -> CBOR? {
        guard case .map(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The bytes of a byte string; nil for every other kind.
    package var byteString: [UInt8]? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes
    }

    /// True if this is a map.
    package var isMap: Bool {
        guard case .map = self else { return false }
        return true
    }
}

/// An error from decoding a CBOR item; the caller should reject the evidence.
package enum CBORError: Error, Hashable {
    /// A length exceeds the remaining bytes.
    case truncated
    /// Bytes follow the item.
    case trailingBytes(Int)
    /// A length or number is not in its shortest form.
    case notMinimal
    /// A length is indefinite.
    case indefiniteLength
    /// A map has a duplicate key.
    case duplicateKey
    /// Items are nested too deeply.
    case tooDeep
    /// There are more items than in any attestation.
    case tooManyItems
    /// A text is not UTF-8.
    case notUTF8
    /// A tag, a float or a reserved form.
    case unsupported(UInt8)
}
