internal import COpenSSL
internal import Vocabulary

/// Represents signatures as equations of points, e·G + r·Q = s·R, with libcrypto's numbers and points for one batch.
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
@safe final class SignatureEquations: @unchecked Sendable {
    /// The maximum size of a batch.
    ///
    /// Larger batches would save little more. A single false signature causes every signature in the batch to be
    /// verified again separately, at about 50 µs each. This must not cost the server more than the session that the
    /// sender had to open for it and loses afterwards.
    static let most = 16
    private static let factorByteCount = 16

    private let curve = Curve.shared
    /// libcrypto's temporary variables.
    private let scratch: OpaquePointer
    /// Q and R of each signature, alternating, and their multipliers.
    private let points: UnsafeMutableBufferPointer<OpaquePointer?>
    private let multipliers: UnsafeMutableBufferPointer<OpaquePointer?>
    /// The numbers r, s and e of each signature.
    private let numbers: [Numbers]
    private let generatorMultiplier: OpaquePointer
    private let factor: OpaquePointer
    private let product: OpaquePointer
    private let result: OpaquePointer

    @safe private struct Numbers {
        let r = unsafe newNumber()
        let s = unsafe newNumber()
        let e = unsafe newNumber()
    }

    private init() {
        let capacity = Self.most
        unsafe self.scratch = unsafe made(BN_CTX_new())
        unsafe self.points = .allocate(capacity: 2 * capacity)
        unsafe self.multipliers = .allocate(capacity: 2 * capacity)
        for index in 0..<2 * capacity {
            unsafe self.points.initializeElement(at: index, to: made(EC_POINT_new(self.curve.group)))
            unsafe self.multipliers.initializeElement(at: index, to: newNumber())
        }
        self.numbers = (0..<capacity).map { _ in Numbers() }
        unsafe self.generatorMultiplier = newNumber()
        unsafe self.factor = newNumber()
        unsafe self.product = newNumber()
        unsafe self.result = unsafe made(EC_POINT_new(self.curve.group))
    }

    deinit {
        for index in unsafe self.points.indices {
            unsafe EC_POINT_clear_free(self.points[index])
            unsafe BN_clear_free(self.multipliers[index])
        }
        unsafe self.points.deallocate()
        unsafe self.multipliers.deallocate()
        for numbers in self.numbers {
            unsafe BN_clear_free(numbers.r)
            unsafe BN_clear_free(numbers.s)
            unsafe BN_clear_free(numbers.e)
        }
        unsafe BN_clear_free(self.generatorMultiplier)
        unsafe BN_clear_free(self.factor)
        unsafe BN_clear_free(self.product)
        unsafe EC_POINT_clear_free(self.result)
        unsafe BN_CTX_free(self.scratch)
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
        let (numbers, order) = unsafe (self.numbers[place], self.curve.order)
        let (ofG, ofQ) = unsafe (self.generatorMultiplier, self.multipliers[2 * place])
        return unsafe BN_mod_inverse(self.product, numbers.s, order, self.scratch) != nil
            && BN_mod_mul(ofG, self.product, numbers.e, order, self.scratch) == 1
            && BN_mod_mul(ofQ, self.product, numbers.r, order, self.scratch) == 1
            && EC_POINT_mul(self.curve.group, self.result, ofG, self.points[2 * place], ofQ, self.scratch) == 1
            && EC_POINT_cmp(self.curve.group, self.result, self.points[2 * place + 1], self.scratch) == 0
    }

    /// Reads a claim's numbers and points.
    ///
    /// Returns false if one is out of range or not on the curve.
    func load(_ claim: SignatureClaim, at place: Int) -> Bool {
        let halves = (claim.signature.bytes[..<32], claim.signature.bytes[32...])
        return self.load(halves.0, halves.1, claim.digest.bytes, at: place)
            && self.load(claim.key.bytes, intoPoint: 2 * place)
            && self.load([0x04] + halves.0 + claim.nonceY.bytes, intoPoint: 2 * place + 1)
    }

    /// Reads r and s, which must be between 1 and q − 1 (FIPS 186-5 §6.4.2), and e, which has as many bits as q.
    private func load(_ r: ArraySlice<UInt8>, _ s: ArraySlice<UInt8>, _ e: [UInt8], at place: Int) -> Bool {
        let numbers = self.numbers[place]
        return unsafe read(r.span.bytes, into: numbers.r) && read(s.span.bytes, into: numbers.s)
            && read(e.span.bytes, into: numbers.e)
            && self.isInRange(numbers.r) && self.isInRange(numbers.s)
    }

    private func isInRange(_ number: OpaquePointer) -> Bool {
        unsafe BN_is_zero(number) == 0 && BN_cmp(number, self.curve.order) < 0
    }

    /// Decodes a point.
    ///
    /// libcrypto checks that it is on the curve, whose order is prime.
    private func load(_ bytes: [UInt8], intoPoint index: Int) -> Bool {
        // Done for each point, because libcrypto's error queue holds only 16 errors, and more would push the mark out
        // of it.
        discardingErrors {
            unsafe EC_POINT_oct2point(self.curve.group, self.points[index], bytes, bytes.count, self.scratch) == 1
        }
    }

    /// Returns whether all of these equations hold.
    ///
    /// They do if Σ z·(e·G + r·Q − s·R), with a separate random z for each equation, is the point at infinity.
    func hold(_ places: Range<Int>) -> Bool {
        var factors = [UInt8](repeating: 0, count: places.count * Self.factorByteCount)
        guard unsafe RAND_bytes(&factors, Int32(factors.count)) == 1 else { return false }
        unsafe BN_zero_ex(self.generatorMultiplier)
        for (number, place) in places.enumerated() {
            let start = number * Self.factorByteCount
            guard self.add(place, times: factors[start..<start + Self.factorByteCount]) else { return false }
        }
        let first = 2 * places.lowerBound
        let isDone = unsafe COpenSSL_EC_POINTs_mul(
            self.curve.group,
            self.result,
            self.generatorMultiplier,
            2 * places.count,
            self.points.baseAddress.map { unsafe $0 + first },
            self.multipliers.baseAddress.map { unsafe $0 + first },
            self.scratch
        )
        return unsafe isDone == 1 && EC_POINT_is_at_infinity(self.curve.group, self.result) == 1
    }

    /// Adds z·e to the multiplier of G, and stores z·r as the multiplier of Q and −z·s as the multiplier of R.
    ///
    /// A Montgomery product of z in Montgomery form and another number is their product, without a division.
    private func add(_ place: Int, times factor: ArraySlice<UInt8>) -> Bool {
        let (numbers, order, form) = unsafe (self.numbers[place], self.curve.order, self.curve.orderForm)
        let (ofQ, ofR) = unsafe (self.multipliers[2 * place], self.multipliers[2 * place + 1])
        return unsafe read(factor.span.bytes, into: self.factor)
            && BN_to_montgomery(self.factor, self.factor, form, self.scratch) == 1
            && BN_mod_mul_montgomery(self.product, self.factor, numbers.e, form, self.scratch) == 1
            && BN_mod_add_quick(self.generatorMultiplier, self.generatorMultiplier, self.product, order) == 1
            && BN_mod_mul_montgomery(ofQ, self.factor, numbers.r, form, self.scratch) == 1
            && BN_mod_mul_montgomery(self.product, self.factor, numbers.s, form, self.scratch) == 1
            && BN_sub(ofR, order, self.product) == 1
    }
}
