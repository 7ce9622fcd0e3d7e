package import Crypto
package import Vocabulary

/// A P-256 key of a test authority or a simulated device.
///
/// These keys stand for hardware that this system does not have. They protect nothing outside a lab, so they may lie
/// in files; a production server has no use for one.
package struct SigningKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// A new key.
    package init() {
        self.key = P256.Signing.PrivateKey()
    }

    /// A key that was derived.
    package init(_ key: P256.Signing.PrivateKey) {
        self.key = key
    }

    /// Reads a PEM file's text, SEC 1 or PKCS #8; nil for anything else.
    package init?(pem: String) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else { return nil }
        self.key = key
    }

    /// The key in PKCS #8, as PEM.
    package var pem: String { self.key.pemRepresentation + "\n" }

    package var publicKey: P256PublicKey {
        guard let key = P256PublicKey(self.key.publicKey.x963Representation) else {
            preconditionFailure("X9.63 is 65 bytes that begin with 0x04")
        }
        return key
    }

    /// ECDSA with SHA-256 over `message`, as DER.
    package func derSignature(for message: [UInt8]) -> [UInt8] { Array(self.ecdsa(message).derRepresentation) }

    /// ECDSA with SHA-256 over `message`, as r‖s.
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

/// SHA-256, as the formats of attestation use it.
package func sha256(_ bytes: [UInt8]) -> Vocabulary.SHA256Digest {
    guard let digest = Vocabulary.SHA256Digest(SHA256.hash(data: bytes)) else {
        preconditionFailure("SHA-256 has 32 bytes")
    }
    return digest
}
