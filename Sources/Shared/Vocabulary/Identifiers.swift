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
/// The kind of ``PINKeyID``.
package enum PINKeyIDKind: FixedBytesKind { package static let byteCount = 16 }
/// The kind of ``AttemptID``.
package enum AttemptIDKind: FixedBytesKind { package static let byteCount = 16 }
/// The kind of ``ChannelBinding``.
package enum ChannelBindingKind: FixedBytesKind { package static let byteCount = 32 }
/// The kind of ``P256Signature``, which consists of r and s with 32 bytes each.
package enum P256SignatureKind: FixedBytesKind { package static let byteCount = 64 }
/// The kind of ``SHA256Digest``.
public enum SHA256DigestKind: FixedBytesKind {
    /// The number of bytes in 256 bits.
    public static let byteCount = 32
}

/// The kind of ``P256PublicKey``.
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
