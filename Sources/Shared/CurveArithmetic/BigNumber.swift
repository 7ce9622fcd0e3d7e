internal import COpenSSL

/// A libcrypto number, cleared at the end of its lifetime and used by one thread at a time.
///
/// Methods that change a number or a point return false if libcrypto fails.
@safe package final class BigNumber {
    let pointer: OpaquePointer

    package init() {
        unsafe self.pointer = unsafe made(BN_new())
    }

    deinit {
        unsafe BN_clear_free(self.pointer)
    }

    /// Reads a big-endian number.
    package func read(_ bytes: ArraySlice<UInt8>) -> Bool { self.read(unsafe bytes.span.bytes) }

    /// Reads a big-endian number.
    package func read(_ bytes: RawSpan) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe BN_bin2bn(start, Int32(bytes.count), self.pointer) != nil
        }
    }

    /// Returns the number as 32 bytes in big-endian order, or nil if it is longer.
    package func bytes() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 32)
        return unsafe BN_bn2binpad(self.pointer, &bytes, Int32(bytes.count)) == Int32(bytes.count) ? bytes : nil
    }

    package func set(_ value: UInt) -> Bool { unsafe BN_set_word(self.pointer, value) == 1 }

    package func set(_ other: BigNumber) -> Bool { unsafe BN_copy(self.pointer, other.pointer) != nil }

    /// Returns random bytes, or nil if libcrypto's generator fails.
    package static func drawBytes(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return unsafe RAND_bytes(&bytes, Int32(count)) == 1 ? bytes : nil
    }
}

func made(_ object: OpaquePointer?) -> OpaquePointer {
    guard let object = unsafe object else { preconditionFailure("libcrypto is out of memory") }
    return unsafe object
}
