/// One CBOR item (RFC 8949), of the kinds that attestation uses.
///
/// Tags, floating point and simple values other than the booleans and null do not occur in what Apple's devices send;
/// the decoder refuses them, so that there is one way less to say the same thing twice.
package indirect enum CBOR: Hashable, Sendable {
    case unsigned(UInt64)
    /// The number −1 − n for the n held here.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBOR])
    /// The pairs in the order of the encoding; no key stands twice.
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

    /// The value of a map's text key; nil where this is no map or has no such key.
    package subscript(key: String) -> CBOR? { self[.text(key)] }

    /// The value of a map's key; nil where this is no map or has no such key.
    package subscript(key: CBOR) -> CBOR? {
        guard case .map(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The bytes of a byte string; nil for every other kind.
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

/// Why bytes are not the one CBOR item that was expected; the caller refuses the evidence.
package enum CBORError: Error, Hashable {
    /// An announced length reaches beyond the end.
    case truncated
    /// Something stands behind the item.
    case trailingBytes(Int)
    /// A length or number is not in its shortest form.
    case notMinimal
    /// A length is left open (indefinite).
    case indefiniteLength
    /// A map has the same key twice.
    case duplicateKey
    /// Items lie in one another deeper than the decoder follows.
    case tooDeep
    /// There are more items than any attestation has.
    case tooManyItems
    /// A text is not UTF-8.
    case notUTF8
    /// A tag, a float or a reserved form.
    case unsupported(UInt8)
}
