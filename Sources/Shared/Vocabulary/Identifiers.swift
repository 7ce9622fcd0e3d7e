/// Identifies one registration permanently; chosen by the server when the enrollment begins.
public typealias WalletID = FixedBytes<WalletIDKind>
/// Identifies a PIN key, so that both sides can tell which one is current without revealing the PIN.
package typealias PINKeyID = FixedBytes<PINKeyIDKind>
/// Identifies one entry of a PIN, so that repeating a message after a lost answer costs nothing.
package typealias AttemptID = FixedBytes<AttemptIDKind>
/// The value that both ends of one TLS connection export, different on each connection (RFC 9266, `tls-exporter`).
package typealias ChannelBinding = FixedBytes<ChannelBindingKind>
/// A P-256 public key in X9.63 uncompressed form; code that uses it checks whether it is on the curve.
package typealias P256PublicKey = FixedBytes<P256PublicKeyKind>
/// An ECDSA signature on P-256, r‖s.
package typealias P256Signature = FixedBytes<P256SignatureKind>
/// The y coordinate of the point R of a P-256 ECDSA signature, whose x coordinate is r; as public as the signature.
package typealias P256NonceY = FixedBytes<P256NonceYKind>
/// A SHA-256 digest.
public typealias SHA256Digest = FixedBytes<SHA256DigestKind>

/// The kind of ``WalletID``.
public enum WalletIDKind: FixedBytesKind { public static let byteCount = 16 }
/// The kind of ``PINKeyID``.
package enum PINKeyIDKind: FixedBytesKind { package static let byteCount = 16 }
/// The kind of ``AttemptID``.
package enum AttemptIDKind: FixedBytesKind { package static let byteCount = 16 }
/// The kind of ``ChannelBinding``.
package enum ChannelBindingKind: FixedBytesKind { package static let byteCount = 32 }
/// The kind of ``P256Signature``: r and s, 32 bytes each.
package enum P256SignatureKind: FixedBytesKind { package static let byteCount = 64 }
/// The kind of ``P256NonceY``.
package enum P256NonceYKind: FixedBytesKind { package static let byteCount = 32 }
/// The kind of ``SHA256Digest``.
public enum SHA256DigestKind: FixedBytesKind { public static let byteCount = 32 }

/// The kind of ``P256PublicKey``.
package enum P256PublicKeyKind: FixedBytesKind {
    /// 0x04, then x and y with 32 bytes each.
    package static let byteCount = 65

    /// Requires 0x04, the first byte of an uncompressed point (SEC 1 §2.3.3).
    package static func admits(_ bytes: [UInt8]) -> Bool { bytes.first == 0x04 }
}

extension FixedBytes where Kind: RandomlyChosen {
    /// Creates a random value with the given generator.
    public static func random(using generator: inout some RandomNumberGenerator) -> Self {
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

    /// Creates a random value with the system's secure generator.
    public static func random() -> Self {
        var generator = SystemRandomNumberGenerator()
        return Self.random(using: &generator)
    }
}

/// The kinds whose values are chosen at random.
public protocol RandomlyChosen: FixedBytesKind {}
extension WalletIDKind: RandomlyChosen {}
extension PINKeyIDKind: RandomlyChosen {}
extension AttemptIDKind: RandomlyChosen {}
