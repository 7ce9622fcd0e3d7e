/// Names one registration for good; chosen by the server when the enrollment begins.
public typealias WalletID = FixedBytes<WalletIDKind>
/// Names a PIN key, so that both sides can tell which one counts without ever naming the PIN.
public typealias PINKeyID = FixedBytes<PINKeyIDKind>
/// Names one entry of a PIN, so that repeating a message whose answer was lost costs nothing.
public typealias AttemptID = FixedBytes<AttemptIDKind>
/// What both ends of one TLS connection export, and no other connection has (RFC 9266, `tls-exporter`).
public typealias ChannelBinding = FixedBytes<ChannelBindingKind>
/// A P-256 public key in X9.63 uncompressed form; whether it lies on the curve is found when it is used.
public typealias P256PublicKey = FixedBytes<P256PublicKeyKind>
/// An ECDSA signature on P-256, r‖s.
public typealias P256Signature = FixedBytes<P256SignatureKind>
/// The y coordinate of the point R of a P-256 ECDSA signature, whose x coordinate is its r; as public as the signature.
public typealias P256NonceY = FixedBytes<P256NonceYKind>
/// The SHA-256 of something.
public typealias SHA256Digest = FixedBytes<SHA256DigestKind>

public enum WalletIDKind: FixedBytesKind { public static let byteCount = 16 }
public enum PINKeyIDKind: FixedBytesKind { public static let byteCount = 16 }
public enum AttemptIDKind: FixedBytesKind { public static let byteCount = 16 }
public enum ChannelBindingKind: FixedBytesKind { public static let byteCount = 32 }
public enum P256SignatureKind: FixedBytesKind { public static let byteCount = 64 }
public enum P256NonceYKind: FixedBytesKind { public static let byteCount = 32 }
public enum SHA256DigestKind: FixedBytesKind { public static let byteCount = 32 }

public enum P256PublicKeyKind: FixedBytesKind {
    public static let byteCount = 65

    /// SEC 1 §2.3.3: an uncompressed point begins with 0x04.
    public static func admits(_ bytes: [UInt8]) -> Bool { bytes.first == 0x04 }
}

extension FixedBytes where Kind: RandomlyChosen {
    /// A new one, from the system's secure generator unless a test passes its own.
    public static func random(using generator: inout some RandomNumberGenerator) -> Self {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Kind.byteCount)
        // Eight at a time: each draw from the system's generator is a system call.
        while bytes.count < Kind.byteCount {
            let word: UInt64 = generator.next()
            for shift in stride(from: 0, to: 64, by: 8) where bytes.count < Kind.byteCount {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        guard let value = Self(bytes) else { preconditionFailure("an identifier admits every string of its length") }
        return value
    }

    /// A new one, from the system's secure generator.
    public static func random() -> Self {
        var generator = SystemRandomNumberGenerator()
        return Self.random(using: &generator)
    }
}

/// Marks the kinds whose values are chosen at random.
public protocol RandomlyChosen: FixedBytesKind {}
extension WalletIDKind: RandomlyChosen {}
extension PINKeyIDKind: RandomlyChosen {}
extension AttemptIDKind: RandomlyChosen {}
