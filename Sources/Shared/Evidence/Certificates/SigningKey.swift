package import Crypto
package import Vocabulary

/// The P-256 key of a test authority or a simulated device.
///
/// These keys take the place of hardware that a test system does not have. They do not protect anything outside of a
/// lab, so they can be stored in files. A production server never uses them.
package struct SigningKey: Sendable {
    private let key: P256.Signing.PrivateKey

    package init() { self.key = P256.Signing.PrivateKey() }

    /// Wraps a derived key.
    package init(_ key: P256.Signing.PrivateKey) { self.key = key }

    /// Reads a PEM-encoded SEC 1 or PKCS #8 key; returns nil for anything else.
    package init?(pem: String) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else { return nil }
        self.key = key
    }

    /// The PEM-encoded PKCS #8 key.
    package var pem: String { self.key.pemRepresentation + "\n" }

    package var publicKey: P256PublicKey {
        guard let key = P256PublicKey(self.key.publicKey.x963Representation) else {
            preconditionFailure("an X9.63 key has 65 bytes and begins with 0x04")
        }
        return key
    }

    /// Returns the DER-encoded ECDSA signature of `message`, using SHA-256.
    package func derSignature(for message: [UInt8]) -> [UInt8] { Array(self.ecdsa(message).derRepresentation) }

    /// Returns the ECDSA signature of `message` as r‖s, using SHA-256.
    package func signature(for message: [UInt8]) -> P256Signature {
        guard let signature = P256Signature(self.ecdsa(message).rawRepresentation) else {
            preconditionFailure("a raw P-256 signature has 64 bytes")
        }
        return signature
    }

    private func ecdsa(_ message: [UInt8]) -> P256.Signing.ECDSASignature {
        do {
            return try self.key.signature(for: message)
        } catch {
            preconditionFailure("signing with a valid P-256 key does not fail")
        }
    }
}

/// Returns the SHA-256 digest, as used in the attestation formats.
package func sha256(_ bytes: [UInt8]) -> Vocabulary.SHA256Digest {
    guard let digest = Vocabulary.SHA256Digest(SHA256.hash(data: bytes)) else {
        preconditionFailure("SHA-256 has 32 bytes")
    }
    return digest
}
