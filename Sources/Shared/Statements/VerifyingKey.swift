internal import Crypto
internal import FoundationEssentials
package import Vocabulary

/// A decoded public key that is known to be on the curve.
///
/// It does not need to be decoded for every verification.
package struct VerifyingKey: Sendable {
    private let key: P256.Signing.PublicKey

    /// Decodes a key.
    ///
    /// Returns nil if the bytes are not a point on the curve.
    package init?(_ publicKey: P256PublicKey) {
        guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey.bytes) else { return nil }
        self.key = key
    }

    /// Returns whether the signature is valid for this key and the statement's bytes, hashed once with SHA-256.
    ///
    /// Do not use a signature as an identifier, since r‖(q − s) is valid if r‖s is.
    package func isValid(_ signature: P256Signature, for statement: Statement) -> Bool {
        self.isValid(signature, forBytes: statement.bytes)
    }

    /// Verifies a signature of arbitrary bytes, for published vectors.
    func isValid(_ signature: P256Signature, forBytes bytes: [UInt8]) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature.bytes) else { return false }
        return self.key.isValidSignature(signature, for: SHA256.hash(data: bytes))
    }
}
