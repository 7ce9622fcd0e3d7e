internal import CurveArithmetic
internal import Vocabulary

/// Represents signatures as equations of points, e·G + r·Q = s·R, with the numbers and points for one batch.
///
/// libcrypto multiplies and adds the points that this type chooses. The running time depends on the points. They are
/// public, because the message with the signature contains or determines all of them.
///
/// **Invariant: a false equation passes with a probability of at most 2⁻¹²⁸**, independently of the other equations in
/// its sum. If it is verified separately, it never passes. Each equation is multiplied by a 128-bit number that is
/// drawn after all of them have arrived, so an attacker cannot choose signatures whose errors cancel each other. Nor
/// can the signer choose R freely, because its x coordinate is taken from r. Otherwise, an attacker could choose r and
/// s, and then an R that makes the equation true.
///
/// `@unchecked Sendable`: ``withPooled(_:)`` lends each instance to one caller at a time.
final class SignatureEquations: @unchecked Sendable {
    /// The maximum size of a batch.
    ///
    /// Larger batches would save little more. A single false signature causes every signature in the batch to be
    /// verified again separately, at about 50 µs each. This must not cost the server more than the session that the
    /// sender had to open for it and loses afterwards.
    static let most = 16
    private static let factorByteCount = 16

    private let curve: Curve
    private let signatures: [Signature]
    private let generatorMultiplier = BigNumber()
    private let factor = BigNumber()
    private let product = BigNumber()
    private let result: CurvePoint

    /// The numbers r, s and e of a signature, and its points with their multipliers.
    private struct Signature {
        let r = BigNumber()
        let s = BigNumber()
        let e = BigNumber()
        /// The public key, Q.
        let key: CurvePoint
        let ofKey = BigNumber()
        /// The signature's point, R.
        let nonce: CurvePoint
        let ofNonce = BigNumber()
    }

    private init() {
        let curve = Curve()
        self.curve = curve
        self.signatures = (0..<Self.most).map { _ in
            Signature(key: CurvePoint(on: curve), nonce: CurvePoint(on: curve))
        }
        self.result = CurvePoint(on: curve)
    }

    private static let pool = ScratchPool<SignatureEquations>()

    /// Lends an instance from a pool.
    ///
    /// The instance keeps its last signatures and keys until they are replaced.
    static func withPooled<Result>(_ body: (SignatureEquations) -> Result) -> Result {
        Self.pool.withValue(orNew: { SignatureEquations() }, body)
    }

    /// Returns whether each claim is true.
    ///
    /// At most ``most`` claims are allowed.
    func verdicts(on claims: ArraySlice<SignatureClaim>, jointly: Bool) -> [Bool] {
        // The index of each claim's numbers, or nil if the claim is false regardless of the equation.
        var count = 0
        let places = claims.map { claim -> Int? in
            guard self.load(claim, at: count) else { return nil }
            count += 1
            return count - 1
        }
        // For a single claim, the sum would cost more than computing R.
        if jointly, count > 1, self.hold(0..<count) { return places.map { $0 != nil } }
        return places.map { place in place.map { self.holds($0) } ?? false }
    }

    /// Returns whether the point R = e/s·G + r/s·Q is the claimed one.
    private func holds(_ place: Int) -> Bool {
        let (signature, ofG) = (self.signatures[place], self.generatorMultiplier)
        return self.curve.invert(signature.s, into: self.product)
            && self.curve.multiply(self.product, signature.e, into: ofG)
            && self.curve.multiply(self.product, signature.r, into: signature.ofKey)
            && self.curve.multiplyGenerator(by: ofG, adding: signature.key, times: signature.ofKey, into: self.result)
            && self.curve.areEqual(self.result, signature.nonce)
    }

    /// Reads a claim's numbers and points.
    ///
    /// Returns false if one is out of range or not on the curve.
    func load(_ claim: SignatureClaim, at place: Int) -> Bool {
        let signature = self.signatures[place]
        let (r, s) = (claim.signature.bytes[..<32], claim.signature.bytes[32...])
        // r and s must be between 1 and q − 1 (FIPS 186-5 §6.4.2); e has as many bits as q.
        return signature.r.read(r) && signature.s.read(s) && signature.e.read(claim.digest.bytes[...])
            && self.curve.isInRange(signature.r) && self.curve.isInRange(signature.s)
            && self.load(claim.key.bytes, into: signature.key)
            && self.load([0x04] + r + claim.nonceY.bytes, into: signature.nonce)
    }

    private func load(_ bytes: [UInt8], into point: CurvePoint) -> Bool {
        // Done for each point, because libcrypto's error queue holds only 16 errors, and more would push the mark out
        // of it.
        discardingErrors { self.curve.read(bytes, into: point) }
    }

    /// Returns whether all of these equations hold.
    ///
    /// They do if Σ z·(e·G + r·Q − s·R), with a separate random z for each equation, is the point at infinity.
    func hold(_ places: Range<Int>) -> Bool {
        guard self.generatorMultiplier.set(0), let factors = BigNumber.drawBytes(places.count * Self.factorByteCount)
        else { return false }
        for (number, signature) in self.signatures[places].enumerated() {
            let start = number * Self.factorByteCount
            guard self.weigh(signature, by: factors[start..<start + Self.factorByteCount]) else { return false }
        }
        let terms = self.signatures[places].flatMap { signature in
            [(point: signature.key, factor: signature.ofKey), (point: signature.nonce, factor: signature.ofNonce)]
        }
        return self.curve.sum(self.generatorMultiplier, terms, into: self.result) && self.curve.isInfinity(self.result)
    }

    /// Adds z·e to the multiplier of G, and stores z·r as the multiplier of Q and −z·s as the multiplier of R.
    private func weigh(_ signature: Signature, by factor: ArraySlice<UInt8>) -> Bool {
        self.factor.read(factor) && self.curve.prepare(self.factor)
            && self.curve.multiply(prepared: self.factor, signature.e, into: self.product)
            && self.curve.add(self.generatorMultiplier, self.product, into: self.generatorMultiplier)
            && self.curve.multiply(prepared: self.factor, signature.r, into: signature.ofKey)
            && self.curve.multiply(prepared: self.factor, signature.s, into: self.product)
            && self.curve.negate(self.product, into: signature.ofNonce)
    }
}
