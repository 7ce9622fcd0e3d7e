internal import Crypto
internal import FoundationEssentials
package import Vocabulary

/// A public key that was found to lie on the curve, ready to verify with; decoding a point is a part of a verification.
package struct VerifyingKey: Sendable {
    private let key: P256.Signing.PublicKey

    /// Nil where the bytes are no point of the curve.
    package init?(_ publicKey: P256PublicKey) {
        guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey.bytes) else { return nil }
        self.key = key
    }

    /// Whether the signature is this key's, over the statement's bytes hashed once with SHA-256.
    ///
    /// A signature is never an identity: for any of them another with the same meaning can be made (q − s).
    package func isValid(_ signature: P256Signature, for statement: Statement) -> Bool {
        self.isValid(signature, forBytes: statement.bytes)
    }

    /// The same for any bytes, so that published vectors can be checked.
    func isValid(_ signature: P256Signature, forBytes bytes: [UInt8]) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature.bytes) else { return false }
        return self.key.isValidSignature(signature, for: SHA256.hash(data: bytes))
    }
}
