import COpenSSL
package import Vocabulary

extension P256NonceY {
    /// Recovers the y coordinate of a signature's point R; nil if the signature is not this key's over this
    /// digest.
    ///
    /// Also nil if R's x coordinate is not r but r + q, once in 2¹³⁰ signatures.
    package init?(of signature: P256Signature, by key: P256PublicKey, for digest: SHA256Digest) {
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        guard let y = NonceRecovery().y(of: signature.bytes, by: key.bytes, for: digest.bytes) else { return nil }
        self.init(y)
    }
}

/// libcrypto's numbers and points for one recovery.
@safe private struct NonceRecovery: ~Copyable {
    private let group: OpaquePointer
    private let scratch: OpaquePointer
    private let key: OpaquePointer
    private let nonce: OpaquePointer
    /// r, s, e, the multipliers of G and Q, and R's coordinates.
    private let numbers: [OpaquePointer]

    init() {
        unsafe self.group = unsafe Self.made(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1))
        unsafe self.scratch = unsafe Self.made(BN_CTX_new())
        unsafe self.key = unsafe Self.made(EC_POINT_new(self.group))
        unsafe self.nonce = unsafe Self.made(EC_POINT_new(self.group))
        unsafe self.numbers = (0..<7).map { _ in unsafe Self.made(BN_new()) }
    }

    deinit {
        for index in unsafe self.numbers.indices { unsafe BN_clear_free(self.numbers[index]) }
        unsafe EC_POINT_clear_free(self.nonce)
        unsafe EC_POINT_clear_free(self.key)
        unsafe BN_CTX_free(self.scratch)
        unsafe EC_GROUP_free(self.group)
    }

    private static func made(_ object: OpaquePointer?) -> OpaquePointer {
        guard let object = unsafe object else { preconditionFailure("libcrypto is out of memory") }
        return unsafe object
    }

    /// The y coordinate of R = e/s·G + r/s·Q; nil if its x coordinate is not r, or a number is out of range
    /// (FIPS 186-5 §6.4.2).
    borrowing func y(of signature: [UInt8], by publicKey: [UInt8], for digest: [UInt8]) -> [UInt8]? {
        let order = unsafe Self.made(EC_GROUP_get0_order(self.group))
        let (r, s, e) = unsafe (self.numbers[0], self.numbers[1], self.numbers[2])
        let (ofG, ofQ) = unsafe (self.numbers[3], self.numbers[4])
        let (x, y) = unsafe (self.numbers[5], self.numbers[6])
        guard self.read(signature[..<32], into: 0), self.read(signature[32...], into: 1),
            self.read(digest[...], into: 2),
            unsafe BN_is_zero(r) == 0 && BN_cmp(r, order) < 0 && BN_is_zero(s) == 0 && BN_cmp(s, order) < 0,
            // Checks that the point is on the curve, whose order is prime.
            unsafe EC_POINT_oct2point(self.group, self.key, publicKey, publicKey.count, self.scratch) == 1,
            unsafe BN_mod_inverse(s, s, order, self.scratch) != nil,
            unsafe BN_mod_mul(ofG, s, e, order, self.scratch) == 1,
            unsafe BN_mod_mul(ofQ, s, r, order, self.scratch) == 1,
            unsafe EC_POINT_mul(self.group, self.nonce, ofG, self.key, ofQ, self.scratch) == 1,
            unsafe EC_POINT_get_affine_coordinates(self.group, self.nonce, x, y, self.scratch) == 1,
            unsafe BN_cmp(x, r) == 0
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: 32)
        return unsafe BN_bn2binpad(y, &bytes, Int32(bytes.count)) == Int32(bytes.count) ? bytes : nil
    }

    /// Reads a big-endian number.
    private borrowing func read(_ bytes: ArraySlice<UInt8>, into index: Int) -> Bool {
        unsafe bytes.withUnsafeBufferPointer { unsafe BN_bin2bn($0.baseAddress, Int32($0.count), self.numbers[index]) }
            != nil
    }
}
