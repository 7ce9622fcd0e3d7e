internal import Crypto
internal import FoundationEssentials
package import Secrets
package import Vocabulary

/// A P-256 key derived from a salt and a PIN, which only exists while it makes a signature.
///
/// Neither this key nor its public half may be stored on the device. Together with the salt, either of them would make
/// it possible to search for the six digits. The server stores the public half, but does not have the salt.
package struct PINKey: ~Copyable, Sendable {
    private let key: P256.Signing.PrivateKey
    /// The public half, which is all that the server knows about the PIN.
    package let publicKey: P256PublicKey

    /// The length of a salt in bytes.
    ///
    /// Each PIN has a new salt, which never leaves the device.
    package static let saltByteCount = 32
    private static let info = Array("remote-pin/1 pin key".utf8)

    /// Derives the key from the 48 bytes of HKDF-SHA256 for salt ‖ PIN, as a number mod (q − 1) + 1.
    ///
    /// - Precondition: The salt has 32 bytes.
    package init(pin: borrowing PIN, salt: borrowing SecretBytes) {
        self.init(material: Self.keyMaterial(pin: pin, salt: salt))
    }

    /// Creates the key from the bytes that ``keyMaterial(pin:salt:)`` returns.
    package init(material: borrowing SecretBytes) {
        let key = material.p256SigningKey()
        guard let publicKey = P256PublicKey(key.publicKey.x963Representation) else {
            preconditionFailure("a public key in this form has 65 bytes")
        }
        self.key = key
        self.publicKey = publicKey
    }

    /// Returns the 48 bytes that the key is derived from.
    ///
    /// - Precondition: The salt has 32 bytes.
    package static func keyMaterial(pin: borrowing PIN, salt: borrowing SecretBytes) -> SecretBytes {
        precondition(salt.count == Self.saltByteCount, "a salt has 32 bytes")
        return pin.keyMaterial(salt: salt).hkdfSHA256(info: Self.info, count: 48)
    }

    /// Signs a statement using ECDSA over its bytes, hashed once with SHA-256.
    ///
    /// The signature has the form r‖s.
    package borrowing func sign(_ statement: Statement) -> P256Signature {
        guard let signature = try? self.key.signature(for: statement.bytes),
            let bytes = P256Signature(signature.rawRepresentation)
        else { preconditionFailure("a valid key signs anything") }
        return bytes
    }
}
