internal import COpenSSL
internal import Secrets
internal import Synchronization
internal import Vocabulary

/// Precomputed signature nonces: for each k, the point R = k·G and 1/k, which do not depend on the key or the message.
///
/// A whole batch needs only one inversion (Montgomery's trick: Speeding the Pollard and elliptic curve methods of
/// factorization, 1987). A separate inversion would take as long as the rest of a signature.
///
/// **Invariant: a nonce signs once.** Two signatures with the same nonce reveal the key (FIPS 186-5 §6.4.1).
///
/// `@unchecked Sendable`: ``withPooled(_:)`` lends each instance to one caller at a time.
@safe final class PreparedNonces: @unchecked Sendable {
    /// The number of nonces per batch.
    ///
    /// At this size, the cost of the inversion is negligible.
    private static let batch = 32

    private let group: OpaquePointer
    private let order: OpaquePointer
    /// libcrypto's temporary variables.
    private let scratch: OpaquePointer
    private let nonces: [Nonce]
    /// The number of unused nonces, which precede the used ones.
    private var left = 0
    private let point: OpaquePointer
    private let factor: OpaquePointer
    private let sum: OpaquePointer

    @safe private struct Nonce {
        let k = unsafe newNumber()
        /// The product of this k and all previous ones.
        let product = unsafe newNumber()
        let inverse = unsafe newNumber()
        /// R's coordinates.
        ///
        /// Since x is less than the order, x is r.
        let x = unsafe newNumber()
        let y = unsafe newNumber()
    }

    private init() {
        unsafe self.group = unsafe made(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1))
        unsafe self.order = unsafe made(EC_GROUP_get0_order(self.group))
        unsafe self.scratch = unsafe made(BN_CTX_new())
        self.nonces = (0..<Self.batch).map { _ in Nonce() }
        unsafe self.point = unsafe made(EC_POINT_new(self.group))
        unsafe self.factor = newNumber()
        unsafe self.sum = newNumber()
    }

    deinit {
        for nonce in self.nonces {
            unsafe BN_clear_free(nonce.k)
            unsafe BN_clear_free(nonce.product)
            unsafe BN_clear_free(nonce.inverse)
            unsafe BN_clear_free(nonce.x)
            unsafe BN_clear_free(nonce.y)
        }
        unsafe BN_clear_free(self.factor)
        unsafe BN_clear_free(self.sum)
        unsafe EC_POINT_clear_free(self.point)
        unsafe BN_CTX_free(self.scratch)
        unsafe EC_GROUP_free(self.group)
    }

    private static let pool = Mutex<[PreparedNonces]>([])

    /// Lends an instance and its unused nonces to `body` for exclusive use.
    static func withPooled<Result>(_ body: (PreparedNonces) -> Result) -> Result {
        let nonces = self.pool.withLock { $0.popLast() } ?? PreparedNonces()
        defer { self.pool.withLock { $0.append(nonces) } }
        return body(nonces)
    }

    /// Returns r ‖ s with s = (e + r·d)/k for the private key d, and R's y coordinate.
    ///
    /// - Parameter scalar: d as 32 bytes, from 1 to the curve's order − 1.
    func sign(_ digest: SHA256Digest, scalar: borrowing SecretBytes) -> FastSignature {
        if self.left == 0 { precondition(self.refill(), "libcrypto is out of memory") }
        self.left -= 1
        let nonce = self.nonces[self.left]
        let order = unsafe self.order
        let isSigned =
            unsafe scalar.withBytes { unsafe read($0, into: self.factor) }
            && read(digest.bytes.span.bytes, into: self.sum)
            && BN_mod_mul(self.factor, self.factor, nonce.x, order, self.scratch) == 1
            && BN_add(self.sum, self.sum, self.factor) == 1
            && BN_mod_mul(self.sum, self.sum, nonce.inverse, order, self.scratch) == 1
        // The probability that s is 0 is about 2⁻²⁵⁶.
        guard isSigned, let r = unsafe bytes(of: nonce.x), let s = unsafe bytes(of: self.sum),
            let y = unsafe bytes(of: nonce.y), let signature = P256Signature(r + s), let nonceY = P256NonceY(y)
        else { preconditionFailure("libcrypto is out of memory") }
        return FastSignature(signature: signature, nonceY: nonceY)
    }

    /// Replaces all nonces with new ones.
    private func refill() -> Bool {
        let order = unsafe self.order
        guard unsafe BN_set_word(self.factor, 1) == 1 else { return false }
        for nonce in self.nonces {
            guard self.draw(nonce), unsafe BN_mod_mul(self.factor, self.factor, nonce.k, order, self.scratch) == 1,
                unsafe BN_copy(nonce.product, self.factor) != nil
            else { return false }
        }
        guard unsafe BN_mod_inverse(self.factor, self.factor, order, self.scratch) != nil else { return false }
        for (index, nonce) in self.nonces.enumerated().reversed() {
            let isInverted =
                unsafe index == 0
                ? BN_copy(nonce.inverse, self.factor) != nil
                : BN_mod_mul(nonce.inverse, self.factor, self.nonces[index - 1].product, order, self.scratch) == 1
                    && BN_mod_mul(self.factor, self.factor, nonce.k, order, self.scratch) == 1
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
                unsafe BN_priv_rand_range(nonce.k, self.order) == 1
                && EC_POINT_mul(self.group, self.point, nonce.k, nil, nil, self.scratch) == 1
                && EC_POINT_get_affine_coordinates(self.group, self.point, nonce.x, nonce.y, self.scratch) == 1
            guard isDrawn else { return false }
        } while unsafe BN_cmp(nonce.x, self.order) >= 0
        return true
    }
}

private func newNumber() -> OpaquePointer { unsafe made(BN_new()) }

private func made(_ object: OpaquePointer?) -> OpaquePointer {
    guard let object = unsafe object else { preconditionFailure("libcrypto is out of memory") }
    return unsafe object
}

/// Reads a big-endian number.
private func read(_ bytes: RawSpan, into number: OpaquePointer) -> Bool {
    unsafe bytes.withUnsafeBytes { bytes in
        let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe BN_bin2bn(start, Int32(bytes.count), number) != nil
    }
}

/// Returns a number as 32 bytes in big-endian order, or nil if it is longer.
private func bytes(of number: OpaquePointer) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 32)
    return unsafe BN_bn2binpad(number, &bytes, Int32(bytes.count)) == Int32(bytes.count) ? bytes : nil
}
