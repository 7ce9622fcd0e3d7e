internal import CurveArithmetic
package import Vocabulary

/// A signature with everything needed to verify it, including the point R of its nonce.
///
/// An ECDSA verifier computes R and checks that its x coordinate is r. If the signer states which of the two points
/// with that x coordinate is R, the verifier only has to check that e·G + r·Q = s·R, where e is the digest and Q is the
/// key (Antipa and others: Accelerated Verification of ECDSA Signatures, SAC 2005). Many such equations can be checked
/// at once by adding them with random factors (the small exponents test in Bellare, Garay and Rabin: Fast Batch
/// Verification for Modular Exponentiation and Digital Signatures, EUROCRYPT '98), which costs little more than half as
/// much as verifying each one.
package struct SignatureClaim: Sendable {
    package let key: P256PublicKey
    package let signature: P256Signature
    package let nonceY: P256NonceY
    /// The SHA-256 digest of the signed bytes, computed only once.
    package let digest: SHA256Digest

    /// Creates the claim that `key` made this signature over bytes with this digest, and that R has this y coordinate.
    package init(_ signature: P256Signature, nonceY: P256NonceY, by key: P256PublicKey, for digest: SHA256Digest) {
        self.key = key
        self.signature = signature
        self.nonceY = nonceY
        self.digest = digest
    }

    /// Returns whether each claim is true, in the order of the claims.
    ///
    /// If a batch of up to ``SignatureEquations/most`` claims contains a false one, each claim in it is verified
    /// separately, which makes the batch three times as expensive. A false claim does not change the verdict on any
    /// other claim, and the verdict on a claim does not depend on the number of other claims.
    package static func areTrue(_ claims: [SignatureClaim]) -> [Bool] {
        Self.areTrue(claims, jointly: Curve.canSum)
    }

    /// Returns whether each claim is true.
    ///
    /// If `jointly` is false, verifies each claim separately. That is also required if libcrypto lacks the deprecated
    /// function for sums of products.
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

    /// Whether the signature is valid and R has this y coordinate.
    package var isTrue: Bool { Self.areTrue([self])[0] }
}
