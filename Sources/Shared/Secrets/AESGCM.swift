internal import COpenSSL

/// Opening with AES-256-GCM straight into the memory that will hold the secret.
///
/// libcrypto instead of swift-crypto here, because every right PIN has a share opened: swift-crypto goes through boxes and
/// copies of their own for it, which cost three times as much, and one of the copies is the secret itself.
///
/// `@unchecked Sendable`: the algorithm is looked up once and only read afterwards.
@safe final class AESGCM: @unchecked Sendable {
    static let shared = AESGCM()

    static let nonceByteCount = 12
    static let tagByteCount = 16

    private let cipher: OpaquePointer

    private init() {
        guard let cipher = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
            preconditionFailure("this libcrypto lacks AES-256-GCM")
        }
        unsafe self.cipher = unsafe cipher
    }

    /// Decrypts nonce ‖ ciphertext ‖ tag to `target`, which has the ciphertext's length; whether the tag is right.
    ///
    /// - Important: Where it is not, `target` holds bytes that must not be used.
    func open(
        _ sealed: [UInt8],
        associatedData: [UInt8],
        key: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        // Freeing it wipes the key's schedule.
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("libcrypto is out of memory") }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let keyBytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let clear = unsafe target.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe sealed.withUnsafeBufferPointer { sealed in
            guard unsafe EVP_DecryptInit_ex2(context, self.cipher, keyBytes, sealed.baseAddress, nil) == 1 else {
                return false
            }
            var count: Int32 = 0
            if !associatedData.isEmpty {
                let isTaken = unsafe EVP_DecryptUpdate(
                    context,
                    nil,
                    &count,
                    associatedData,
                    Int32(associatedData.count)
                )
                guard isTaken == 1 else { return false }
            }
            let ciphertext = unsafe sealed.baseAddress?.advanced(by: Self.nonceByteCount)
            if unsafe !target.isEmpty {
                let isTaken = unsafe EVP_DecryptUpdate(context, clear, &count, ciphertext, Int32(target.count))
                guard isTaken == 1 else { return false }
            }
            let tag = unsafe UnsafeMutableRawPointer(mutating: ciphertext?.advanced(by: target.count))
            let size = Int32(Self.tagByteCount)
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, size, tag) == 1 else { return false }
            let end = unsafe clear?.advanced(by: target.count)
            return unsafe EVP_DecryptFinal_ex(context, end, &count) == 1
        }
    }
}
