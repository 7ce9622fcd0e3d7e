internal import COpenSSL
package import Crypto
internal import FoundationEssentials

extension SecretBytes {
    /// Returns a 32-byte private key: this value as a big-endian number, mod (q − 1) + 1, where q is the order of P-256
    /// (FIPS 186-5 A.2.1).
    ///
    /// If this value has at least 48 bytes, the bias against any key is below 2^−128. Every result is in `1...q−1`.
    package borrowing func p256PrivateScalar() -> SecretBytes {
        let number = self.withBytes { BigNumber(bigEndian: $0) }
        return number.remainder(dividedBy: .p256OrderMinusOne).successor().bigEndianBytes(count: 32)
    }

    /// Returns the private key for the number ``p256PrivateScalar()``.
    ///
    /// swift-crypto keeps the number in separate memory, which it clears when the last copy of the key is released.
    package borrowing func p256SigningKey() -> P256.Signing.PrivateKey {
        let scalar = self.p256PrivateScalar()
        let key = unsafe scalar.withPointer { bytes in unsafe try? P256.Signing.PrivateKey(rawRepresentation: bytes) }
        guard let key else { preconditionFailure("a number from 1 to q − 1 is a private key") }
        return key
    }
}

/// A libcrypto number that is cleared at the end of its lifetime.
@safe private struct BigNumber: ~Copyable {
    private let number: OpaquePointer

    /// q − 1 for P-256 (FIPS 186-4 D.1.2.3).
    static var p256OrderMinusOne: BigNumber {
        let bytes: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x50,
        ]
        return unsafe BigNumber(bigEndian: bytes.span.bytes)
    }

    private init(takingOwnershipOf number: OpaquePointer?) {
        guard let number = unsafe number else { preconditionFailure("out of memory") }
        unsafe self.number = number
    }

    init(bigEndian bytes: RawSpan) {
        unsafe self.init(takingOwnershipOf: BN_new())
        let read = unsafe bytes.withUnsafeBytes { buffer in
            let start = unsafe buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe BN_bin2bn(start, Int32(buffer.count), self.number) != nil
        }
        precondition(read, "out of memory")
        // From here on, libcrypto divides and adds in constant time.
        unsafe BN_set_flags(self.number, BN_FLG_CONSTTIME)
    }

    deinit { unsafe BN_clear_free(self.number) }

    borrowing func remainder(dividedBy divisor: borrowing BigNumber) -> BigNumber {
        let result = unsafe BigNumber(takingOwnershipOf: BN_new())
        let scratch = unsafe BN_CTX_secure_new()
        defer { unsafe BN_CTX_free(scratch) }
        precondition(unsafe BN_div(nil, result.number, self.number, divisor.number, scratch) == 1, "out of memory")
        return result
    }

    consuming func successor() -> BigNumber {
        precondition(unsafe BN_add_word(self.number, 1) == 1, "out of memory")
        return self
    }

    borrowing func bigEndianBytes(count: Int) -> SecretBytes {
        unsafe SecretBytes(count: count) { storage in
            let start = unsafe storage.baseAddress?.assumingMemoryBound(to: UInt8.self)
            precondition(unsafe BN_bn2binpad(self.number, start, Int32(count)) == count, "the number is too long")
        }
    }
}
