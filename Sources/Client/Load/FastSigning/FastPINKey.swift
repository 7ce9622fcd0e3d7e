package import Secrets
package import Statements
package import Vocabulary

/// A PIN key that signs with a ``FastSigner``.
///
/// A wallet uses ``PINKey`` instead, and discards the key after one signature.
package final class FastPINKey: Sendable {
    package let publicKey: P256PublicKey
    private let signer: FastSigner

    /// Derives the same key as ``PINKey``.
    ///
    /// - Precondition: The salt is 32 bytes long.
    package init(pin: borrowing PIN, salt: borrowing SecretBytes) {
        let material = PINKey.keyMaterial(pin: pin, salt: salt)
        self.publicKey = PINKey(material: material).publicKey
        self.signer = FastSigner(material: material)
    }

    /// Signs a statement with ECDSA over its bytes, hashed once with SHA-256.
    ///
    /// The signature is r‖s.
    package func sign(_ statement: Statement) -> FastSignature {
        self.signer.sign(statement.digest)
    }
}
