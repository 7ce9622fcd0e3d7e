package import Secrets
package import Vocabulary

/// A signature along with the y coordinate of R, its nonce's point.
package struct FastSignature: Sendable {
    package let signature: P256Signature
    package let nonceY: P256NonceY
}

/// A private key in a form that can sign thousands of messages per second.
///
/// Use it only for keys that do not protect anything. The signer computes R for each nonce anyway, so it can report R
/// at no extra cost. Nonces are prepared in batches. Signing leaves copies of the private key in memory, and its timing
/// depends on the key. A wallet must therefore never link this target.
package final class FastSigner: Sendable {
    private let scalar: SecretBytes

    /// Creates the key ``SecretBytes/p256SigningKey()`` of this material.
    package init(material: borrowing SecretBytes) {
        self.scalar = material.p256PrivateScalar()
    }

    /// Signs a digest with ECDSA.
    ///
    /// The signature is r‖s.
    package func sign(_ digest: SHA256Digest) -> FastSignature {
        PreparedNonces.withPooled { $0.sign(digest, scalar: self.scalar) }
    }
}
