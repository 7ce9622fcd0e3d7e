internal import COpenSSL
internal import Secrets
internal import Vocabulary

/// Nonces of signatures, made so many at a time: of each k its point R = k·G and 1/k, all that does not depend on what is
/// signed or with which key.
///
/// The inverses of all together take one inversion (Montgomery's trick: Speeding the Pollard and elliptic curve methods of
/// factorization, 1987), which by itself takes as long as the rest of a signature.
///
/// **Invariant: a nonce signs once.** Two signatures with the same one give their key away (FIPS 186-5 §6.4.1).
///
/// `@unchecked Sendable`: ``withIdle(_:)`` gives each to one caller at a time.
@safe final class PreparedNonces: @unchecked Sendable {
    /// How many are made at a time; with so many the inversion's part in each is lost among the rest.
    private static let batch = 32

    private let curve = Curve.shared
    /// What libcrypto computes in.
    private let scratch: OpaquePointer
    private let nonces: [Nonce]
    /// How many of them, the first ones, have not signed yet.
    private var left = 0
    private let point: OpaquePointer
    private let factor: OpaquePointer
    private let sum: OpaquePointer

    @safe private struct Nonce {
        let k = unsafe newNumber()
        /// Of this k and of those before it.
        let product = unsafe newNumber()
        let inverse = unsafe newNumber()
        /// R's coordinates; x is below the order and therefore r.
        let x = unsafe newNumber()
        let y = unsafe newNumber()
    }

    private init() {
        unsafe self.scratch = unsafe made(BN_CTX_new())
        self.nonces = (0..<Self.batch).map { _ in Nonce() }
        unsafe self.point = unsafe made(EC_POINT_new(self.curve.group))
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
    }

    private static let idle = Idle<PreparedNonces>()

    /// Lends one, with the nonces that are left in it.
    static func withIdle<Result>(_ body: (PreparedNonces) -> Result) -> Result {
        Self.idle.withOne(orNew: { PreparedNonces() }, body)
    }

    /// r ‖ s with s = (e + r·d)/k for the private key d, and R's y coordinate.
    func sign(_ digest: SHA256Digest, scalar: borrowing SecretBytes) -> ToldSignature {
        if self.left == 0 { precondition(self.make(), "libcrypto is out of memory") }
        self.left -= 1
        let nonce = self.nonces[self.left]
        let order = unsafe self.curve.order
        let isSigned =
            unsafe scalar.withBytes { unsafe read($0, into: self.factor) }
            && read(digest.bytes.span.bytes, into: self.sum)
            && BN_mod_mul(self.factor, self.factor, nonce.x, order, self.scratch) == 1
            && BN_add(self.sum, self.sum, self.factor) == 1
            && BN_mod_mul(self.sum, self.sum, nonce.inverse, order, self.scratch) == 1
        // No s is 0, but for a chance of 2⁻²⁵⁶.
        guard isSigned, let r = unsafe bytes(of: nonce.x), let s = unsafe bytes(of: self.sum),
            let y = unsafe bytes(of: nonce.y), let signature = P256Signature(r + s), let nonceY = P256NonceY(y)
        else { preconditionFailure("libcrypto is out of memory") }
        return ToldSignature(signature: signature, nonceY: nonceY)
    }

    /// Makes new ones of all.
    private func make() -> Bool {
        let order = unsafe self.curve.order
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

    /// A random k from 1 to q − 1, and R = k·G.
    ///
    /// Drawn again where x is not below q, once in 2¹³⁰ times: such an R cannot be told.
    private func draw(_ nonce: Nonce) -> Bool {
        let group = unsafe self.curve.group
        repeat {
            // k is not 0, for which R has no coordinates, but for a chance of 2⁻²⁵⁶.
            let isDrawn =
                unsafe BN_priv_rand_range(nonce.k, self.curve.order) == 1
                && EC_POINT_mul(group, self.point, nonce.k, nil, nil, self.scratch) == 1
                && EC_POINT_get_affine_coordinates(group, self.point, nonce.x, nonce.y, self.scratch) == 1
            guard isDrawn else { return false }
        } while unsafe BN_cmp(nonce.x, self.curve.order) >= 0
        return true
    }
}
