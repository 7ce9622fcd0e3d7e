/// Defines the length and constraints of a kind of fixed-length byte string.
public protocol FixedBytesKind: Sendable {
    /// The length in bytes of all values of this kind.
    static var byteCount: Int { get }

    /// Returns whether bytes of the right length are a valid value.
    ///
    /// By default, they always are.
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
    /// The bytes, whose number is `Kind.byteCount`.
    public let bytes: [UInt8]

    /// Returns nil if the bytes have any other length or are not a valid value of this kind.
    public init?(_ bytes: some Sequence<UInt8>) {
        let copy = Array(bytes)
        guard copy.count == Kind.byteCount, Kind.admits(copy) else { return nil }
        self.bytes = copy
    }

    /// Like the other initializer, but does not copy, for decoders that already have an array.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Kind.byteCount, Kind.admits(bytes) else { return nil }
        self.bytes = bytes
    }

    /// Parses lowercase or uppercase hexadecimal digits, two per byte.
    public init?(hex: String) {
        guard let bytes = [UInt8](hex: hex) else { return nil }
        self.init(bytes)
    }

    /// The bytes in lowercase hexadecimal.
    public var description: String { self.bytes.hex }

    /// Compares all bytes, like `hasSameBytes(as:)`.
    ///
    /// Secrets must not be compared this way. They have separate types, in Secrets.
    public static func == (left: FixedBytes, right: FixedBytes) -> Bool {
        left.bytes.hasSameBytes(as: right.bytes)
    }

    /// Hashes eight bytes at a time, whereas an array would make a call for every single byte.
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
    /// Returns whether the bytes are equal.
    ///
    /// This always reads every byte, but unlike `==`, it does not make a function call for each one.
    package func hasSameBytes(as other: [UInt8]) -> Bool {
        guard self.count == other.count else { return false }
        var difference: UInt8 = 0
        for (left, right) in zip(self, other) { difference |= left ^ right }
        return difference == 0
    }

    /// Parses lowercase or uppercase hexadecimal digits, two per byte.
    ///
    /// Returns nil for anything else.
    package init?(hex: String) {
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

    /// The bytes in lowercase hexadecimal, two digits per byte.
    package var hex: String {
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
