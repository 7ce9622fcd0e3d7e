internal import COpenSSL

/// AES-256-GCM decryption with one key, directly into the memory that will hold the secret.
///
/// This uses libcrypto instead of swift-crypto, because every right PIN requires opening a share. Because of its boxing
/// and copying, swift-crypto takes three times as long, and one of its copies is the secret itself.
@safe final class AESGCM {
    static let keyByteCount = 32
    static let nonceByteCount = 12
    static let tagByteCount = 16

    /// Contains the expanded key.
    ///
    /// Freeing the context wipes it.
    private let context: OpaquePointer

    /// - Precondition: The key has 32 bytes.
    init(key: borrowing SecretBytes) {
        precondition(key.count == Self.keyByteCount, "AES-256-GCM takes a key of 32 bytes")
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("libcrypto is out of memory") }
        let isSet = unsafe key.withPointer { key in
            let bytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe EVP_DecryptInit_ex2(context, AES256GCM.shared.cipher, bytes, nil, nil) == 1
        }
        precondition(isSet, "libcrypto is out of memory")
        unsafe self.context = context
    }

    deinit { unsafe EVP_CIPHER_CTX_free(self.context) }

    /// Decrypts nonce ‖ ciphertext ‖ tag into `target`, which must have the length of the ciphertext.
    ///
    /// - Returns: Whether the tag is right.
    /// - Important: If it is not, the bytes in `target` must not be used.
    func open(
        _ sealed: ArraySlice<UInt8>,
        associatedData: [UInt8],
        into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let clear = unsafe target.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe sealed.withUnsafeBufferPointer { sealed in
            // Sets a new nonce for the expanded key.
            guard unsafe EVP_DecryptInit_ex2(self.context, nil, nil, sealed.baseAddress, nil) == 1 else { return false }
            var count: Int32 = 0
            if !associatedData.isEmpty {
                let isTaken = unsafe EVP_DecryptUpdate(
                    self.context,
                    nil,
                    &count,
                    associatedData,
                    Int32(associatedData.count)
                )
                guard isTaken == 1 else { return false }
            }
            let ciphertext = unsafe sealed.baseAddress?.advanced(by: Self.nonceByteCount)
            if unsafe !target.isEmpty {
                let isTaken = unsafe EVP_DecryptUpdate(self.context, clear, &count, ciphertext, Int32(target.count))
                guard isTaken == 1 else { return false }
            }
            let tag = unsafe UnsafeMutableRawPointer(mutating: ciphertext?.advanced(by: target.count))
            let size = Int32(Self.tagByteCount)
            guard unsafe EVP_CIPHER_CTX_ctrl(self.context, EVP_CTRL_AEAD_SET_TAG, size, tag) == 1 else { return false }
            let end = unsafe clear?.advanced(by: target.count)
            return unsafe EVP_DecryptFinal_ex(self.context, end, &count) == 1
        }
    }
}

/// libcrypto's cipher.
///
/// `@unchecked Sendable` because it is fetched once and only read after that.
@safe private final class AES256GCM: @unchecked Sendable {
    static let shared = AES256GCM()

    let cipher: OpaquePointer

    private init() {
        guard let cipher = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
            preconditionFailure("this libcrypto lacks AES-256-GCM")
        }
        unsafe self.cipher = unsafe cipher
    }
}
