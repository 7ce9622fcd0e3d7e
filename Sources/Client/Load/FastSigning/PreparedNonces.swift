internal import CurveArithmetic
internal import Secrets
internal import Vocabulary

/// Precomputed signature nonces: for each k, the point R = k·G and 1/k, which do not depend on the key or the message.
///
/// A whole batch needs only one inversion (Montgomery's trick: Speeding the Pollard and elliptic curve methods of
/// factorization, 1987). A separate inversion would take as long as the rest of a signature.
///
/// **Invariant: a nonce signs once.** Two signatures with the same nonce reveal the key (FIPS 186-5 §6.4.1).
///
/// `@unchecked Sendable`: ``withPooled(_:)`` lends each instance to one caller at a time.
final class PreparedNonces: @unchecked Sendable {
    /// The number of nonces per batch.
    ///
    /// At this size, the cost of the inversion is negligible.
    private static let batch = 32

    private let curve: Curve
    private let nonces = (0..<PreparedNonces.batch).map { _ in Nonce() }
    /// The number of unused nonces, which precede the used ones.
    private var left = 0
    private let point: CurvePoint
    private let factor = BigNumber()
    private let sum = BigNumber()

    private struct Nonce {
        let k = BigNumber()
        /// The product of this k and all previous ones.
        let product = BigNumber()
        let inverse = BigNumber()
        /// R's coordinates.
        ///
        /// Since x is less than the order, x is r.
        let x = BigNumber()
        let y = BigNumber()
    }

    private init() {
        self.curve = Curve()
        self.point = CurvePoint(on: self.curve)
    }

    private static let pool = ScratchPool<PreparedNonces>()

    /// Lends an instance and its unused nonces to `body` for exclusive use.
    static func withPooled<Result>(_ body: (PreparedNonces) -> Result) -> Result {
        self.pool.withValue(orNew: { PreparedNonces() }, body)
    }

    /// Returns r ‖ s with s = (e + r·d)/k for the private key d, and R's y coordinate.
    ///
    /// - Parameter scalar: d as 32 bytes, from 1 to the curve's order − 1.
    func sign(_ digest: SHA256Digest, scalar: borrowing SecretBytes) -> FastSignature {
        if self.left == 0 { precondition(self.refill(), "libcrypto is out of memory") }
        self.left -= 1
        let nonce = self.nonces[self.left]
        let isSigned =
            scalar.withBytes { self.factor.read($0) }
            && self.sum.read(digest.bytes[...])
            && self.curve.multiply(self.factor, nonce.x, into: self.factor)
            && self.curve.add(self.sum, self.factor, into: self.sum)
            && self.curve.multiply(self.sum, nonce.inverse, into: self.sum)
        // The probability that s is 0 is about 2⁻²⁵⁶.
        guard isSigned, let r = nonce.x.bytes(), let s = self.sum.bytes(), let y = nonce.y.bytes(),
            let signature = P256Signature(r + s), let nonceY = P256NonceY(y)
        else { preconditionFailure("libcrypto is out of memory") }
        return FastSignature(signature: signature, nonceY: nonceY)
    }

    /// Replaces all nonces with new ones.
    private func refill() -> Bool {
        guard self.factor.set(1) else { return false }
        for nonce in self.nonces {
            guard self.draw(nonce), self.curve.multiply(self.factor, nonce.k, into: self.factor),
                nonce.product.set(self.factor)
            else { return false }
        }
        guard self.curve.invert(self.factor, into: self.factor) else { return false }
        for (index, nonce) in self.nonces.enumerated().reversed() {
            let isInverted =
                index == 0
                ? nonce.inverse.set(self.factor)
                : self.curve.multiply(self.factor, self.nonces[index - 1].product, into: nonce.inverse)
                    && self.curve.multiply(self.factor, nonce.k, into: self.factor)
            guard isInverted else { return false }
        }
        self.left = self.nonces.count
        return true
    }

    /// Draws a random k from 1 to q − 1 and computes R = k·G.
    ///
    /// If x is not less than q, r would differ from x, and y alone would not identify R. In that case, a new k is
    /// drawn. The probability of this is about 2⁻¹³⁰.
    private func draw(_ nonce: Nonce) -> Bool {
        repeat {
            // If k is 0, R has no coordinates. The probability of this is about 2⁻²⁵⁶.
            let isDrawn =
                self.curve.draw(nonce.k)
                && self.curve.multiplyGenerator(by: nonce.k, into: self.point)
                && self.curve.readCoordinates(of: self.point, nonce.x, nonce.y)
            guard isDrawn else { return false }
        } while !self.curve.isInRange(nonce.x)
        return true
    }
}
