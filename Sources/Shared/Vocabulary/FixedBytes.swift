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

/// Encoded as hexadecimal digits.
extension FixedBytes: Codable {
    /// Decodes lowercase or uppercase digits, and rejects any other length than that of the kind.
    public init(from decoder: any Decoder) throws {
        guard let value = Self(hex: try String(from: decoder)) else {
            let problem = "is not \(2 * Kind.byteCount) hexadecimal digits"
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: problem))
        }
        self = value
    }

    /// Encodes lowercase digits, as the description does.
    public func encode(to encoder: any Encoder) throws { try self.description.encode(to: encoder) }
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

    /// Parses lowercase or uppercase hexadecimal digits, two per byte; returns nil for anything else.
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

/// Permanently identifies a registration.
///
/// Chosen by the server when the enrollment begins.
public typealias WalletID = FixedBytes<WalletIDKind>
/// Identifies a PIN key, so that both sides can tell which one is current without revealing the PIN.
package typealias PINKeyID = FixedBytes<PINKeyIDKind>
/// Identifies a single entry of a PIN, so that repeating a message after its answer was lost does not cost another
/// attempt.
package typealias AttemptID = FixedBytes<AttemptIDKind>
/// The value exported by both ends of a TLS connection, which is different for each connection (RFC 9266,
/// `tls-exporter`).
package typealias ChannelBinding = FixedBytes<ChannelBindingKind>
/// A P-256 public key in uncompressed X9.63 form.
///
/// Code that uses it must check that it is on the curve.
package typealias P256PublicKey = FixedBytes<P256PublicKeyKind>
/// A P-256 ECDSA signature in the form r‖s.
package typealias P256Signature = FixedBytes<P256SignatureKind>
/// A SHA-256 digest.
public typealias SHA256Digest = FixedBytes<SHA256DigestKind>

/// The kind of ``WalletID``.
public enum WalletIDKind: FixedBytesKind {
    /// Enough random bytes that no id is chosen twice.
    public static let byteCount = 16
}
package enum PINKeyIDKind: FixedBytesKind { package static let byteCount = 16 }
package enum AttemptIDKind: FixedBytesKind { package static let byteCount = 16 }
package enum ChannelBindingKind: FixedBytesKind { package static let byteCount = 32 }
/// The kind of ``P256Signature``, which consists of r and s with 32 bytes each.
package enum P256SignatureKind: FixedBytesKind { package static let byteCount = 64 }
/// The kind of ``SHA256Digest``.
public enum SHA256DigestKind: FixedBytesKind {
    /// The number of bytes in 256 bits.
    public static let byteCount = 32
}

package enum P256PublicKeyKind: FixedBytesKind {
    /// 0x04 followed by x and y, which have 32 bytes each.
    package static let byteCount = 65

    /// Requires 0x04, the first byte of an uncompressed point (SEC 1 §2.3.3).
    package static func admits(_ bytes: [UInt8]) -> Bool { bytes.first == 0x04 }
}

extension FixedBytes where Kind: RandomlyChosen {
    /// Creates a random value using the given generator.
    package static func random(using generator: inout some RandomNumberGenerator) -> Self {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Kind.byteCount)
        // Generate eight bytes at a time, because each call to the system's generator is a system call.
        while bytes.count < Kind.byteCount {
            let word: UInt64 = generator.next()
            for shift in stride(from: 0, to: 64, by: 8) where bytes.count < Kind.byteCount {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        guard let value = Self(bytes) else { preconditionFailure("every string of this length is an identifier") }
        return value
    }

    /// Creates a random value using the system's secure generator.
    package static func random() -> Self {
        var generator = SystemRandomNumberGenerator()
        return Self.random(using: &generator)
    }
}

/// A kind of value that is chosen at random.
package protocol RandomlyChosen: FixedBytesKind {}
extension WalletIDKind: RandomlyChosen {}
extension PINKeyIDKind: RandomlyChosen {}
extension AttemptIDKind: RandomlyChosen {}

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
