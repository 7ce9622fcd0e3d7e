/// A CBOR item (RFC 8949) of a kind used in attestation.
///
/// Apple's objects do not contain tags, floating-point values, or simple values other than booleans and null. The
/// strict decoder rejects these, so that every value has exactly one encoding. Extension data may come from later
/// systems, so a lenient decoder accepts every well-formed encoding there.
package indirect enum CBOR: Hashable, Sendable {
    case unsigned(UInt64)
    /// The number −1 − n, where n is the associated value.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBOR])
    /// A map with its entries in the order they were encoded.
    ///
    /// Keys are unique.
    case map([Entry])
    case boolean(Bool)
    case null
    /// An item of another kind, as it was encoded.
    ///
    /// Only the lenient decoder returns it.
    case other([UInt8])

    /// A key in a map, and its value.
    package struct Entry: Hashable, Sendable {
        package let key: CBOR
        package let value: CBOR

        package init(_ key: CBOR, _ value: CBOR) {
            self.key = key
            self.value = value
        }
    }

    /// Returns an integer of either sign.
    package static func integer(_ value: Int64) -> CBOR {
        value < 0 ? .negative(UInt64(bitPattern: ~value)) : .unsigned(UInt64(value))
    }

    /// The value for a text key in a map, or nil if this is not a map or the key is missing.
    package subscript(key: String) -> CBOR? { self[.text(key)] }

    /// The value for a key in a map, or nil if this is not a map or the key is missing.
    package subscript(key: CBOR) -> CBOR? {
        guard case .map(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The contents of a byte string, or nil for all other kinds.
    package var byteString: [UInt8]? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes
    }

    /// Whether this is a map.
    package var isMap: Bool {
        guard case .map = self else { return false }
        return true
    }
}

/// An error from decoding a CBOR item.
///
/// The evidence should be rejected.
package enum CBORError: Error, Hashable {
    /// A length exceeds the remaining bytes.
    case truncated
    /// The item is followed by more bytes.
    case trailingBytes(Int)
    /// A length or number is not in its shortest form.
    case notMinimal
    /// A length is indefinite.
    case indefiniteLength
    /// A map has a duplicate key.
    case duplicateKey
    /// Items are nested too deeply.
    case tooDeep
    /// The encoding has more items than any attestation.
    case tooManyItems
    /// A text is not valid UTF-8.
    case notUTF8
    /// The encoding contains a tag, a float or a reserved form.
    case unsupported(UInt8)
}
