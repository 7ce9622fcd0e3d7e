internal import COpenSSL

extension [UInt8] {
    /// Appends SHA-256(`prefix` ‖ `bytes`).
    ///
    /// This uses libcrypto instead of swift-crypto, which allocates each hash state.
    package mutating func appendSHA256(of prefix: UInt8, _ bytes: ArraySlice<UInt8>) {
        unsafe self.appendSHA256 { state in
            _ = unsafe Swift.withUnsafeBytes(of: prefix) { unsafe COpenSSL_SHA256_Update(state, $0.baseAddress, 1) }
            _ = unsafe bytes.withUnsafeBytes { unsafe COpenSSL_SHA256_Update(state, $0.baseAddress, $0.count) }
        }
    }

    /// Returns SHA-256(`bytes`).
    package static func sha256(of bytes: [UInt8]) -> [UInt8] {
        var digest: [UInt8] = []
        unsafe digest.appendSHA256 { state in _ = unsafe COpenSSL_SHA256_Update(state, bytes, bytes.count) }
        return digest
    }

    private mutating func appendSHA256(of update: (UnsafeMutablePointer<SHA256_CTX>?) -> Void) {
        unsafe withUnsafeTemporaryAllocation(of: SHA256_CTX.self, capacity: 1) { working in
            let state = working.baseAddress
            _ = unsafe COpenSSL_SHA256_Init(state)
            unsafe update(state)
            self.append(addingCapacity: 32) { output in
                unsafe output.withUnsafeMutableBufferPointer { space, count in
                    _ = unsafe COpenSSL_SHA256_Final(space.baseAddress?.advanced(by: count), state)
                    count += 32
                }
            }
        }
    }
}
