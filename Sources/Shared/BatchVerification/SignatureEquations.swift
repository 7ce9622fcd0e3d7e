internal import COpenSSL
internal import Vocabulary

/// Signatures as equations of points, e·G + r·Q = s·R, and libcrypto's numbers and points for so many of them.
///
/// The points are multiplied and added by libcrypto; what is here is which ones. The time it takes depends on them, and on
/// nothing that the message with the signature does not carry.
///
/// **Invariant: an equation is found to hold only if it does**, but for a chance of 2⁻¹²⁸ at each try, two for each,
/// whatever the others are. Each is multiplied by a number of 128 bits that is drawn after all of them have come, so nobody
/// can choose signatures whose errors cancel. And R is no free choice: its x coordinate is taken from r, since anybody can
/// choose r and s and then an R that makes the equation true.
///
/// `@unchecked Sendable`: ``withIdle(_:)`` gives each to one caller at a time.
@safe final class SignatureEquations: @unchecked Sendable {
    /// How many are verified together at most.
    ///
    /// More gain little; and one false one has so many verified again by themselves, some 50 µs each, which is to cost the
    /// server no more than the session that its sender needed for it, and that it ends.
    static let most = 16
    private static let factorByteCount = 16

    private let curve = Curve.shared
    /// What libcrypto computes in.
    private let scratch: OpaquePointer
    /// Q and R of each, in turn, and what they are multiplied by.
    private let points: UnsafeMutableBufferPointer<OpaquePointer?>
    private let multipliers: UnsafeMutableBufferPointer<OpaquePointer?>
    /// r, s and e of each.
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

    /// - Parameter capacity: how many there can be.
    private init(capacity: Int) {
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

    private static let idle = Idle<SignatureEquations>()

    /// Lends one, which keeps the last signatures and keys that it met until others come.
    static func withIdle<Result>(_ body: (SignatureEquations) -> Result) -> Result {
        Self.idle.withOne(orNew: { SignatureEquations(capacity: Self.most) }, body)
    }

    /// Makes one for one signature, of which nothing stays: on a phone, where a PIN key's public half is as telling as the
    /// PIN for whoever has the salt.
    static func withNew<Result>(_ body: (SignatureEquations) -> Result) -> Result {
        withoutErrors { body(SignatureEquations(capacity: 1)) }
    }

    /// Which of the claims are true; at most ``most``.
    func verdicts(on claims: ArraySlice<SignatureClaim>) -> [Bool] {
        // Where a claim's numbers are; nil for one that is none whatever the equation says.
        var count = 0
        let places = claims.map { claim -> Int? in
            guard self.load(claim, at: count) else { return nil }
            count += 1
            return count - 1
        }
        guard count > 0 else { return places.map { _ in false } }
        if self.hold(0..<count) { return places.map { $0 != nil } }
        guard count > 1 else { return places.map { _ in false } }
        return places.map { place in place.map { self.hold($0..<$0 + 1) } ?? false }
    }

    /// Reads a claim's numbers and points; false where one is out of its range or off the curve.
    private func load(_ claim: SignatureClaim, at place: Int) -> Bool {
        let halves = (claim.signature.bytes[..<32], claim.signature.bytes[32...])
        return self.load(halves.0, halves.1, claim.digest.bytes, at: place)
            && self.load(claim.key.bytes, intoPoint: 2 * place)
            && self.load([0x04] + halves.0 + claim.nonceY.bytes, intoPoint: 2 * place + 1)
    }

    /// r and s from 1 to q − 1 (FIPS 186-5 §6.4.2), and e, which has as many bits as q.
    private func load(_ r: ArraySlice<UInt8>, _ s: ArraySlice<UInt8>, _ e: [UInt8], at place: Int) -> Bool {
        let numbers = self.numbers[place]
        return unsafe read(r.span.bytes, into: numbers.r) && read(s.span.bytes, into: numbers.s)
            && read(e.span.bytes, into: numbers.e)
            && self.isInRange(numbers.r) && self.isInRange(numbers.s)
    }

    private func isInRange(_ number: OpaquePointer) -> Bool {
        unsafe BN_is_zero(number) == 0 && BN_cmp(number, self.curve.order) < 0
    }

    /// Decodes a point; libcrypto looks whether it is one of the curve, whose order is a prime.
    private func load(_ bytes: [UInt8], intoPoint index: Int) -> Bool {
        // Each by itself: the queue has 16 places, and a mark may fall out of it as well.
        withoutErrors {
            unsafe EC_POINT_oct2point(self.curve.group, self.points[index], bytes, bytes.count, self.scratch) == 1
        }
    }

    /// Whether all of these equations hold: whether Σ z·(e·G + r·Q − s·R), each with a random z of its own, is the point
    /// at infinity.
    private func hold(_ places: Range<Int>) -> Bool {
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

    /// Adds z·e to what G is multiplied by, and puts down z·r for Q and −z·s for R.
    private func add(_ place: Int, times factor: ArraySlice<UInt8>) -> Bool {
        let (numbers, order) = unsafe (self.numbers[place], self.curve.order)
        let (ofQ, ofR) = unsafe (self.multipliers[2 * place], self.multipliers[2 * place + 1])
        return unsafe read(factor.span.bytes, into: self.factor)
            && BN_mod_mul(self.product, self.factor, numbers.e, order, self.scratch) == 1
            && BN_mod_add(
                self.generatorMultiplier,
                self.generatorMultiplier,
                self.product,
                order,
                self.scratch
            ) == 1
            && BN_mod_mul(ofQ, self.factor, numbers.r, order, self.scratch) == 1
            && BN_mod_mul(self.product, self.factor, numbers.s, order, self.scratch) == 1
            && BN_sub(ofR, order, self.product) == 1
    }

    // MARK: - Finding R

    /// The y coordinate of R = e/s·G + r/s·Q; nil where its x coordinate is not r.
    func nonceY(of signature: P256Signature, by key: P256PublicKey, for digest: SHA256Digest) -> P256NonceY? {
        guard self.load(signature.bytes[..<32], signature.bytes[32...], digest.bytes, at: 0),
            self.load(key.bytes, intoPoint: 0)
        else { return nil }
        let (numbers, order) = unsafe (self.numbers[0], self.curve.order)
        let (ofG, ofQ) = unsafe (self.generatorMultiplier, self.multipliers[0])
        let (x, y) = unsafe (self.product, self.factor)
        let isFound =
            unsafe BN_mod_inverse(self.factor, numbers.s, order, self.scratch) != nil
            && BN_mod_mul(ofG, self.factor, numbers.e, order, self.scratch) == 1
            && BN_mod_mul(ofQ, self.factor, numbers.r, order, self.scratch) == 1
            && EC_POINT_mul(self.curve.group, self.result, ofG, self.points[0], ofQ, self.scratch) == 1
            && EC_POINT_get_affine_coordinates(self.curve.group, self.result, x, y, self.scratch) == 1
            && BN_cmp(x, numbers.r) == 0
        guard isFound, let bytes = unsafe bytes(of: y) else { return nil }
        return P256NonceY(bytes)
    }
}
