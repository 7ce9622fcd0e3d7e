package import Secrets
package import Vocabulary

/// A signature with all that it takes to verify it, the point R of its nonce among it.
///
/// ECDSA's verifier computes R and looks whether its x coordinate is r. Where the signer says which of the two points
/// with that x it is, what remains to be shown is that e·G + r·Q = s·R, where e is the digest and Q the key (Antipa and
/// others: Accelerated Verification of ECDSA Signatures, SAC 2005). Many such equations are shown at once by a sum with
/// random factors (Bellare, Garay and Rabin: Fast Batch Verification for Modular Exponentiation and Digital Signatures,
/// EUROCRYPT '98, the small exponents test), which costs little more than half of verifying each.
package struct SignatureClaim: Sendable {
    package let key: P256PublicKey
    package let signature: P256Signature
    package let nonceY: P256NonceY
    /// SHA-256 of what is signed, hashed once.
    package let digest: SHA256Digest

    /// The claim that the signature is this key's over what has this digest, and that R has this y coordinate.
    package init(_ signature: P256Signature, nonceY: P256NonceY, by key: P256PublicKey, for digest: SHA256Digest) {
        self.key = key
        self.signature = signature
        self.nonceY = nonceY
        self.digest = digest
    }

    /// Which of the claims are true, in their order.
    ///
    /// A false one is found by verifying those it came with one by one, up to ``SignatureEquations/most``, which then cost
    /// three times as much. It changes no verdict but its own.
    package static func areTrue(_ claims: [SignatureClaim]) -> [Bool] {
        SignatureEquations.withIdle { equations in
            var verdicts: [Bool] = []
            verdicts.reserveCapacity(claims.count)
            for start in stride(from: 0, to: claims.count, by: SignatureEquations.most) {
                verdicts += equations.verdicts(on: claims[start..<min(start + SignatureEquations.most, claims.count)])
            }
            return verdicts
        }
    }
}

extension P256NonceY {
    /// The y coordinate that goes with a signature; nil where that is not this key's over what has this digest.
    ///
    /// It also is nil where R's x coordinate is not r but r + q, which is so once in 2¹³⁰ signatures. Leaves
    /// nothing of the key or the signature behind but what libcrypto frees.
    package init?(of signature: P256Signature, by key: P256PublicKey, for digest: SHA256Digest) {
        let y = SignatureEquations.withNew { $0.nonceY(of: signature, by: key, for: digest) }
        guard let y else { return nil }
        self = y
    }
}

/// A signature with the y coordinate of its nonce's point R.
package struct ToldSignature: Sendable {
    package let signature: P256Signature
    package let nonceY: P256NonceY

    /// Signs what has this digest with a private key, 32 bytes, a number from 1 to the curve's order − 1.
    ///
    /// R is known when the nonce is chosen, so it costs nothing to tell, and nonces are made many at a time. libcrypto does
    /// not compute with either as carefully as where a key has to be kept: for keys that protect nothing.
    package static func quick(of digest: SHA256Digest, byPrivate key: borrowing SecretBytes) -> ToldSignature {
        PreparedNonces.withIdle { $0.sign(digest, scalar: key) }
    }
}
