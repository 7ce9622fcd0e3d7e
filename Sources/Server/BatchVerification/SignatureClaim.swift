internal import COpenSSL
package import Vocabulary

/// A signature with everything needed to verify it, including the point R of its nonce.
///
/// An ECDSA verifier computes R and checks that its x coordinate is r. If the signer says which of the two
/// points with that x is R, the verifier only has to check e·G + r·Q = s·R, where e is the digest and Q the
/// key (Antipa and others: Accelerated Verification of ECDSA Signatures, SAC 2005). Many such equations are
/// checked at once by a sum with random factors (Bellare, Garay and Rabin: Fast Batch Verification for
/// Modular Exponentiation and Digital Signatures, EUROCRYPT '98, the small exponents test), which costs
/// little more than half of verifying each.
package struct SignatureClaim: Sendable {
    package let key: P256PublicKey
    package let signature: P256Signature
    package let nonceY: P256NonceY
    /// SHA-256 of the signed bytes, hashed once.
    package let digest: SHA256Digest

    /// The claim that the key made this signature over bytes with this digest, and that R has this y coordinate.
    package init(_ signature: P256Signature, nonceY: P256NonceY, by key: P256PublicKey, for digest: SHA256Digest) {
        self.key = key
        self.signature = signature
        self.nonceY = nonceY
        self.digest = digest
    }

    /// Returns the truth of each claim, in their order.
    ///
    /// If a batch of up to ``SignatureEquations/most`` claims contains a false one, each of them is verified
    /// separately, which makes that batch three times as expensive. A false claim changes no other claim's
    /// verdict, and a claim's verdict does not depend on the number of the others.
    package static func areTrue(_ claims: [SignatureClaim]) -> [Bool] {
        Self.areTrue(claims, jointly: COpenSSL_has_EC_POINTs_mul() == 1)
    }

    /// Returns the truth of each claim; verifies each separately if `jointly` is false, as with a libcrypto that lacks
    /// the deprecated function for sums of products.
    package static func areTrue(_ claims: [SignatureClaim], jointly: Bool) -> [Bool] {
        SignatureEquations.withPooled { equations in
            var verdicts: [Bool] = []
            verdicts.reserveCapacity(claims.count)
            for start in stride(from: 0, to: claims.count, by: SignatureEquations.most) {
                let batch = claims[start..<min(start + SignatureEquations.most, claims.count)]
                verdicts += equations.verdicts(on: batch, jointly: jointly)
            }
            return verdicts
        }
    }

    /// True if the signature is valid and R has this y coordinate.
    package var isTrue: Bool { Self.areTrue([self])[0] }
}
