/// The length and constraint of one kind of fixed-length byte string.
public protocol FixedBytesKind: Sendable {
    /// The length of every value of this kind, in bytes.
    static var byteCount: Int { get }

    /// Returns whether bytes of the right length are a valid value; by default all are.
    static func admits(_ bytes: [UInt8]) -> Bool
}

extension FixedBytesKind {
    /// Accepts all bytes.
    public static func admits(_ bytes: [UInt8]) -> Bool { true }
}

/// A byte string with a fixed length and meaning, whose values are always valid.
///
/// Ids of different kinds have different types, so that a PIN key id cannot be passed as an attempt id. This must not
/// be used for secrets, because it can be copied, compared and printed.
public struct FixedBytes<Kind: FixedBytesKind>: Hashable, Sendable, CustomStringConvertible {
    /// The bytes, `Kind.byteCount` of them.
    public let bytes: [UInt8]

    /// Returns nil for any other length, and for bytes that are not a valid value of this kind.
    public init?(_ bytes: some Sequence<UInt8>) {
        let copy = Array(bytes)
        guard copy.count == Kind.byteCount, Kind.admits(copy) else { return nil }
        self.bytes = copy
    }

    /// Does the same without copying, for decoders that already have an array.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Kind.byteCount, Kind.admits(bytes) else { return nil }
        self.bytes = bytes
    }

    /// Reads lower- or upper-case hexadecimal digits, two for each byte.
    public init?(hex: String) {
        guard let bytes = [UInt8](hex: hex) else { return nil }
        self.init(bytes)
    }

    /// The bytes in lower-case hexadecimal.
    public var description: String { self.bytes.hex }

    /// Compares all bytes, as `hasSameBytes(as:)` does.
    ///
    /// Not for secrets: those have separate types, in Secrets.
    public static func == (left: FixedBytes, right: FixedBytes) -> Bool {
        left.bytes.hasSameBytes(as: right.bytes)
    }

    /// Hashes eight bytes at a time; an array would make a call for every single byte.
    public func hash(into hasher: inout Hasher) {
        var word: UInt64 = 0
        for index in self.bytes.indices {
            word = word << 8 | UInt64(self.bytes[index])
            if index % 8 == 7 { hasher.combine(word) }
        }
        if !self.bytes.count.isMultiple(of: 8) { hasher.combine(word) }
    }
}

extension [UInt8] {
    /// Returns whether the bytes are equal; always reads every byte, but does not make a function call for each like
    /// `==`.
    public func hasSameBytes(as other: [UInt8]) -> Bool {
        guard self.count == other.count else { return false }
        var difference: UInt8 = 0
        for (left, right) in zip(self, other) { difference |= left ^ right }
        return difference == 0
    }

    /// Reads lower- or upper-case hexadecimal digits, two for each byte; returns nil for anything else.
    public init?(hex: String) {
        let digits = Array<UInt8>(hex.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Character(UnicodeScalar(digits[index])).hexDigitValue,
                let low = Character(UnicodeScalar(digits[index + 1])).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        self = bytes
    }

    /// The bytes in lower-case hexadecimal, two digits each.
    public var hex: String {
        let digits = Array<UInt8>("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(self.count * 2)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0x0F)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
