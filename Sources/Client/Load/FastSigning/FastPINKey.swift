package import Secrets
package import Statements
package import Vocabulary

/// A signature along with the y coordinate of R, its nonce's point.
package struct FastSignature: Sendable {
    package let signature: P256Signature
    package let nonceY: P256NonceY
}

/// A PIN key in a form that can sign thousands of statements per second.
///
/// Use it only for keys that do not protect anything. The signer computes R for each nonce anyway, so it can report R
/// at no extra cost. Nonces are prepared in batches. Signing leaves copies of the private key in memory, and its timing
/// depends on the key. A wallet must therefore never link this target. It uses ``PINKey`` instead, and discards the key
/// after one signature.
package final class FastPINKey: Sendable {
    package let publicKey: P256PublicKey
    private let scalar: SecretBytes

    /// Derives the same key as ``PINKey``.
    ///
    /// - Precondition: The salt is 32 bytes long.
    package init(pin: borrowing PIN, salt: borrowing SecretBytes) {
        let material = PINKey.keyMaterial(pin: pin, salt: salt)
        self.publicKey = PINKey(material: material).publicKey
        self.scalar = material.p256PrivateScalar()
    }

    /// Signs a statement with ECDSA over its bytes, hashed once with SHA-256.
    ///
    /// The signature is r‖s.
    package func sign(_ statement: Statement) -> FastSignature {
        PreparedNonces.withPooled { $0.sign(statement.digest, scalar: self.scalar) }
    }
}
