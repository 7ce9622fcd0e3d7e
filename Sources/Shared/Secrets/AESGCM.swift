internal import COpenSSL
internal import Synchronization

/// A key that seals and opens many values, as ``SecretBytes/seal(_:associatedData:)`` and
/// ``SecretBytes/open(_:associatedData:)`` do with one.
///
/// For opening, libcrypto expands it once and not anew for each value, which is more than half of what 32 bytes cost.
public final class SealingKey: Sendable {
    private let key: SecretBytes
    /// Those that nobody uses at present; no more than have opened something at the same time.
    private let idle = Mutex<[AESGCM]>([])

    /// - Precondition: The key has 32 bytes.
    public init(_ key: consuming SecretBytes) {
        precondition(key.count == AESGCM.keyByteCount, "AES-256-GCM takes a key of 32 bytes")
        self.key = key
    }

    /// Encrypts: nonce ‖ ciphertext ‖ tag.
    public func seal(_ plaintext: borrowing SecretBytes, associatedData: [UInt8]) -> [UInt8] {
        self.key.seal(plaintext, associatedData: associatedData)
    }

    /// Decrypts nonce ‖ ciphertext ‖ tag.
    public func open(_ sealed: ArraySlice<UInt8>, associatedData: [UInt8]) throws(SealBroken) -> SecretBytes {
        let algorithm = self.idle.withLock { $0.popLast() } ?? AESGCM(key: self.key)
        let secret = try SecretBytes(opening: sealed, associatedData: associatedData, with: algorithm)
        // One that met a value which is not genuine is not used again.
        self.idle.withLock { $0.append(algorithm) }
        return secret
    }
}

/// Opening with AES-256-GCM and one key straight into the memory that will hold the secret.
///
/// libcrypto instead of swift-crypto here, because every right PIN has a share opened: swift-crypto goes through boxes and
/// copies of their own for it, which cost three times as much, and one of the copies is the secret itself.
///
/// `@unchecked Sendable`: whoever has it uses it alone; ``SealingKey`` gives each to one caller at a time.
@safe final class AESGCM: @unchecked Sendable {
    static let keyByteCount = 32
    static let nonceByteCount = 12
    static let tagByteCount = 16

    /// Holds the expanded key; freeing it wipes that.
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

    deinit {
        unsafe EVP_CIPHER_CTX_free(self.context)
    }

    /// Decrypts nonce ‖ ciphertext ‖ tag to `target`, which has the ciphertext's length; whether the tag is right.
    ///
    /// - Important: Where it is not, `target` holds bytes that must not be used.
    func open(
        _ sealed: ArraySlice<UInt8>,
        associatedData: [UInt8],
        into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let clear = unsafe target.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe sealed.withUnsafeBufferPointer { sealed in
            // A new nonce for the key that is there.
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

/// `@unchecked Sendable`: the algorithm is looked up once and only read afterwards.
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
