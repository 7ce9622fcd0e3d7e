internal import COpenSSL

/// An HMAC-SHA256 key that is prepared once and computes many codes.
///
/// The codes are the same as those of ``SecretBytes/hmacSHA256(_:)``, and take a seventh of the time. The prepared
/// states are the hash states after the first block of the inner and of the outer hash (RFC 2104 §4). They suffice to
/// compute codes, so they are as secret as the key. They are wiped when this object is released; each working copy is
/// wiped after use.
package final class HMACKey: Sendable {
    private static let blockByteCount = 64
    private static let codeByteCount = 32

    /// The inner and the outer state.
    private let states: SecretBytes

    /// - Precondition: The key has at most 64 bytes.
    package init(_ key: borrowing SecretBytes) {
        precondition(key.count <= Self.blockByteCount, "a longer key would be hashed first")
        self.states = unsafe SecretBytes(count: 2 * MemoryLayout<SHA256_CTX>.stride) { storage in
            let states = unsafe storage.bindMemory(to: SHA256_CTX.self)
            for (place, padding) in [0x36, 0x5c].enumerated() {
                var block = [UInt8](repeating: UInt8(padding), count: Self.blockByteCount)
                unsafe key.withPointer { key in for index in key.indices { unsafe block[index] ^= key[index] } }
                let state = unsafe states.baseAddress?.advanced(by: place)
                _ = unsafe COpenSSL_SHA256_Init(state)
                _ = unsafe COpenSSL_SHA256_Update(state, block, block.count)
                block.wipe()
            }
        }
    }

    /// Prepares HKDF-SHA256 without a salt for ``derive(info:count:)``, by extracting its pseudorandom key (RFC 5869
    /// §2.2).
    package convenience init(extractedFrom root: borrowing SecretBytes) {
        self.init(root.hkdfExtractSHA256())
    }

    /// Returns `count` bytes derived from the root, the same bytes as ``SecretBytes/hkdfSHA256(info:count:)``.
    package func derive(info: [UInt8], count: Int = 32) -> SecretBytes {
        // The blocks of the output are HMAC(key, info ‖ 0x01), then HMAC(key, previous block ‖ info ‖ number) (RFC 5869
        // §2.3).
        var block = self.code(of: info, [1])
        var derived = block
        while derived.count < count {
            var message = block + info
            block.wipe()
            block = self.code(of: message, [UInt8(derived.count / Self.codeByteCount + 1)])
            message.wipe()
            derived.append(contentsOf: block)
        }
        block.wipe()
        defer { derived.wipe() }
        return SecretBytes(copying: derived[..<count])
    }

    /// Keeps the prepared states out of swap space.
    package func keepOutOfSwap() { self.states.keepOutOfSwap() }

    /// Returns the first `byteCount` bytes of HMAC-SHA256(key, `first` ‖ `second`).
    package func code(of first: [UInt8], _ second: [UInt8] = [], byteCount: Int = 32) -> [UInt8] {
        precondition(byteCount <= Self.codeByteCount, "HMAC-SHA256 has 32 bytes")
        return unsafe withUnsafeTemporaryAllocation(of: SHA256_CTX.self, capacity: 1) { working in
            let state = working.baseAddress
            defer { unsafe OPENSSL_cleanse(state, MemoryLayout<SHA256_CTX>.size) }
            return unsafe [UInt8](unsafeUninitializedCapacity: Self.codeByteCount) { code, count in
                unsafe self.load(0, into: state)
                _ = unsafe COpenSSL_SHA256_Update(state, first, first.count)
                _ = unsafe COpenSSL_SHA256_Update(state, second, second.count)
                _ = unsafe COpenSSL_SHA256_Final(code.baseAddress, state)
                unsafe self.load(1, into: state)
                _ = unsafe COpenSSL_SHA256_Update(state, code.baseAddress, Self.codeByteCount)
                _ = unsafe COpenSSL_SHA256_Final(code.baseAddress, state)
                count = byteCount
            }
        }
    }

    /// Copies a prepared state.
    private func load(_ place: Int, into state: UnsafeMutablePointer<SHA256_CTX>?) {
        unsafe self.states.withPointer { states in
            let prepared = unsafe states.bindMemory(to: SHA256_CTX.self)
            if let first = prepared.baseAddress { unsafe state?.update(from: first + place, count: 1) }
        }
    }
}

extension SecretBytes {
    /// Returns the pseudorandom key that HKDF-SHA256 without a salt extracts from these bytes (RFC 5869 §2.2).
    package borrowing func hkdfExtractSHA256() -> SecretBytes {
        let salt = HMACKey(SecretBytes(copying: [UInt8](repeating: 0, count: 32)))
        var bytes = self.exposedBytes()
        defer { bytes.wipe() }
        var key = salt.code(of: bytes)
        return SecretBytes(wiping: &key)
    }
}
