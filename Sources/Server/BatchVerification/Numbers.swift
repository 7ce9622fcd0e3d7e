internal import COpenSSL

/// The P-256 curve and its order, shared by all threads.
///
/// `@unchecked Sendable`: the values are created once and only read afterwards.
@safe final class Curve: @unchecked Sendable {
    static let shared = Curve()

    let group: OpaquePointer
    let order: OpaquePointer
    /// The order's constants for Montgomery multiplication.
    let orderForm: OpaquePointer

    private init() {
        unsafe self.group = unsafe made(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1))
        unsafe self.order = unsafe made(EC_GROUP_get0_order(self.group))
        unsafe self.orderForm = unsafe made(EC_GROUP_get_mont_data(self.group))
    }
}

func newNumber() -> OpaquePointer { unsafe made(BN_new()) }

func made(_ object: OpaquePointer?) -> OpaquePointer {
    guard let object = unsafe object else { preconditionFailure("libcrypto is out of memory") }
    return unsafe object
}

/// Reads a big-endian number.
func read(_ bytes: RawSpan, into number: OpaquePointer) -> Bool {
    unsafe bytes.withUnsafeBytes { bytes in
        let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe BN_bin2bn(start, Int32(bytes.count), number) != nil
    }
}
