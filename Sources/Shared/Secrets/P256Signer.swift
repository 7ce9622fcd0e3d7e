internal import COpenSSL

/// A P-256 private key that signs with ECDSA and SHA-256 (FIPS 186-5, 6.4.1).
///
/// This uses libcrypto instead of swift-crypto, which spends two thirds as much time on converting a signature as on
/// making it.
@safe package final class P256Signer: Sendable {
    private static let scalarByteCount = 32
    /// The maximum length of a signature in DER.
    private static let mostEncodedBytes = 72

    /// The key, which libcrypto clears when it is released.
    ///
    /// Threads may share it, since each signature has a context to itself.
    nonisolated(unsafe) private let key: OpaquePointer

    /// - Precondition: The scalar is a big-endian number of 32 bytes, from 1 to q − 1.
    package init(scalar: borrowing SecretBytes) {
        precondition(scalar.count == Self.scalarByteCount, "a P-256 private key has 32 bytes")
        let key = unsafe scalar.withPointer { bytes in
            unsafe COpenSSL_new_P256_key(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
        guard let key = unsafe key else { preconditionFailure("out of memory") }
        unsafe self.key = key
    }

    deinit { unsafe EVP_PKEY_free(self.key) }

    /// Returns the 64-byte signature r ‖ s, or nil if libcrypto fails, for example because it runs out of memory or
    /// cannot get random numbers.
    package func signature(of message: [UInt8]) -> [UInt8]? {
        let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, self.key, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        let digest = [UInt8].sha256(of: message)
        var (encoded, count) = ([UInt8](repeating: 0, count: Self.mostEncodedBytes), Self.mostEncodedBytes)
        guard unsafe EVP_PKEY_sign_init(context) == 1,
            unsafe EVP_PKEY_sign(context, &encoded, &count, digest, digest.count) == 1
        else { return nil }
        return Self.raw(encoded[..<count])
    }

    /// Converts a signature from DER (RFC 3279 §2.2.3) to r ‖ s.
    private static func raw(_ encoded: ArraySlice<UInt8>) -> [UInt8]? {
        let signature = unsafe encoded.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        guard let signature = unsafe signature else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        var raw = [UInt8](repeating: 0, count: 2 * Self.scalarByteCount)
        let isComplete = unsafe raw.withUnsafeMutableBufferPointer { raw in
            let (r, s) = unsafe (raw.baseAddress, raw.baseAddress?.advanced(by: Self.scalarByteCount))
            let size = Int32(Self.scalarByteCount)
            return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), r, size) == size
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), s, size) == size
        }
        return isComplete ? raw : nil
    }
}
