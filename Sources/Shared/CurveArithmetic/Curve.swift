internal import COpenSSL

/// Arithmetic on the curve P-256, on its points and on numbers modulo its order, with libcrypto's temporary variables.
///
/// The running time depends on the numbers and points. Use this type only for public values, and for keys that protect
/// nothing.
@safe package final class Curve {
    fileprivate let group: OpaquePointer
    private let scratch: OpaquePointer
    private let order = BigNumber()
    /// The constants for Montgomery multiplication modulo the order; owned by the group.
    private let orderForm: OpaquePointer

    package init() {
        unsafe self.group = unsafe made(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1))
        unsafe self.orderForm = unsafe made(EC_GROUP_get_mont_data(self.group))
        unsafe self.scratch = unsafe made(BN_CTX_new())
        precondition(
            unsafe BN_copy(self.order.pointer, EC_GROUP_get0_order(self.group)) != nil,
            "libcrypto is out of memory"
        )
    }

    deinit {
        unsafe BN_CTX_free(self.scratch)
        unsafe EC_GROUP_free(self.group)
    }

    // MARK: - Numbers modulo the order

    package func add(_ first: BigNumber, _ second: BigNumber, into sum: BigNumber) -> Bool {
        unsafe BN_mod_add(sum.pointer, first.pointer, second.pointer, self.order.pointer, self.scratch) == 1
    }

    package func multiply(_ first: BigNumber, _ second: BigNumber, into product: BigNumber) -> Bool {
        unsafe BN_mod_mul(product.pointer, first.pointer, second.pointer, self.order.pointer, self.scratch) == 1
    }

    /// Converts a number to Montgomery form, so that ``multiply(prepared:_:into:)`` needs no division.
    package func prepare(_ number: BigNumber) -> Bool {
        unsafe BN_to_montgomery(number.pointer, number.pointer, self.orderForm, self.scratch) == 1
    }

    /// Multiplies a number in Montgomery form by a number in ordinary form.
    package func multiply(prepared first: BigNumber, _ second: BigNumber, into product: BigNumber) -> Bool {
        unsafe BN_mod_mul_montgomery(
            product.pointer,
            first.pointer,
            second.pointer,
            self.orderForm,
            self.scratch
        ) == 1
    }

    package func invert(_ number: BigNumber, into inverse: BigNumber) -> Bool {
        unsafe BN_mod_inverse(inverse.pointer, number.pointer, self.order.pointer, self.scratch) != nil
    }

    /// - Precondition: The number is not larger than the order.
    package func negate(_ number: BigNumber, into negative: BigNumber) -> Bool {
        unsafe BN_sub(negative.pointer, self.order.pointer, number.pointer) == 1
    }

    /// Draws a random number from 0 to the order − 1 with libcrypto's generator for secrets.
    package func draw(_ number: BigNumber) -> Bool {
        unsafe BN_priv_rand_range(number.pointer, self.order.pointer) == 1
    }

    /// Returns whether a number is between 1 and the order − 1.
    package func isInRange(_ number: BigNumber) -> Bool {
        unsafe BN_is_zero(number.pointer) == 0 && BN_cmp(number.pointer, self.order.pointer) < 0
    }

    // MARK: - Points

    /// Decodes a point.
    ///
    /// libcrypto checks that the point is on the curve, whose order is prime.
    package func read(_ bytes: [UInt8], into point: CurvePoint) -> Bool {
        unsafe EC_POINT_oct2point(self.group, point.pointer, bytes, bytes.count, self.scratch) == 1
    }

    /// Computes number·G.
    package func multiplyGenerator(by number: BigNumber, into result: CurvePoint) -> Bool {
        unsafe EC_POINT_mul(self.group, result.pointer, number.pointer, nil, nil, self.scratch) == 1
    }

    /// Computes number·G + factor·point.
    package func multiplyGenerator(
        by number: BigNumber,
        adding point: CurvePoint,
        times factor: BigNumber,
        into result: CurvePoint
    ) -> Bool {
        unsafe EC_POINT_mul(self.group, result.pointer, number.pointer, point.pointer, factor.pointer, self.scratch)
            == 1
    }

    /// Computes number·G + Σ factor·point; requires ``canSum``.
    package func sum(
        _ number: BigNumber,
        _ terms: [(point: CurvePoint, factor: BigNumber)],
        into result: CurvePoint
    ) -> Bool {
        var points = unsafe terms.map { unsafe Optional($0.point.pointer) }
        var factors = unsafe terms.map { unsafe Optional($0.factor.pointer) }
        return unsafe COpenSSL_EC_POINTs_mul(
            self.group,
            result.pointer,
            number.pointer,
            terms.count,
            &points,
            &factors,
            self.scratch
        ) == 1
    }

    /// Whether this libcrypto has the deprecated function for sums of products.
    package static var canSum: Bool { COpenSSL_has_EC_POINTs_mul() == 1 }

    package func isInfinity(_ point: CurvePoint) -> Bool {
        unsafe EC_POINT_is_at_infinity(self.group, point.pointer) == 1
    }

    package func areEqual(_ first: CurvePoint, _ second: CurvePoint) -> Bool {
        unsafe EC_POINT_cmp(self.group, first.pointer, second.pointer, self.scratch) == 0
    }

    /// Reads a point's coordinates; the point at infinity has none.
    package func readCoordinates(of point: CurvePoint, _ x: BigNumber, _ y: BigNumber) -> Bool {
        unsafe EC_POINT_get_affine_coordinates(self.group, point.pointer, x.pointer, y.pointer, self.scratch) == 1
    }
}

/// A point of a ``Curve``, cleared at the end of its lifetime and used by one thread at a time.
@safe package final class CurvePoint {
    fileprivate let pointer: OpaquePointer

    package init(on curve: Curve) {
        unsafe self.pointer = unsafe made(EC_POINT_new(curve.group))
    }

    deinit {
        unsafe EC_POINT_clear_free(self.pointer)
    }
}
