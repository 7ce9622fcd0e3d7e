internal import Crypto
internal import FoundationEssentials

/// A sealed value could not be opened, because the key or the associated data is different or the value was modified.
///
/// The record or message that contains it must be rejected.
package struct SealBroken: Error, Hashable, Sendable {
    package init() {}
}

/// Everything that a secret can be used for as a key.
///
/// It is all in this target, so that no other target needs a key's bytes.
extension SecretBytes {
    /// The number of bytes added by ``seal(_:associatedData:)``: a 12-byte nonce before the ciphertext and a 16-byte
    /// tag after it.
    package static let sealOverhead = 28

    /// Encrypts with AES-256-GCM under this key to nonce ‖ ciphertext ‖ tag.
    ///
    /// The nonce is random, so no more than 2^32 values may be sealed under the same key (NIST SP 800-38D §8.3). The
    /// owner of a long-lived key must count them.
    ///
    /// - Precondition: This key has 32 bytes.
    package borrowing func seal(_ plaintext: borrowing SecretBytes, associatedData: [UInt8]) -> [UInt8] {
        let key = self.sealingKey()
        let box = unsafe plaintext.withPointer { message in
            unsafe try? AES.GCM.seal(message, using: key, nonce: AES.GCM.Nonce(), authenticating: associatedData)
        }
        guard let combined = box?.combined else { preconditionFailure("a key of 32 bytes seals any short message") }
        return Array(combined)
    }

    /// Decrypts a value returned by ``seal(_:associatedData:)`` for the same key and associated data.
    ///
    /// - Precondition: This key has 32 bytes.
    package borrowing func open(_ sealed: [UInt8], associatedData: [UInt8]) throws(SealBroken) -> SecretBytes {
        try SecretBytes(opening: sealed[...], associatedData: associatedData, with: AESGCM(key: self))
    }

    /// Opens a sealed value directly into new memory.
    init(opening sealed: ArraySlice<UInt8>, associatedData: [UInt8], with algorithm: AESGCM) throws(SealBroken) {
        guard sealed.count >= Self.sealOverhead else { throw SealBroken() }
        try unsafe self.init(count: sealed.count - Self.sealOverhead) { storage throws(SealBroken) in
            let isGenuine = unsafe algorithm.open(sealed, associatedData: associatedData, into: storage)
            // Bytes that are not genuine are wiped along with the storage and never returned.
            guard isGenuine else { throw SealBroken() }
        }
    }

    /// Derives `count` bytes using HKDF-SHA256 without a salt, which is the same as a salt of 32 zero bytes (RFC 5869
    /// §2.2).
    ///
    /// - Precondition: `count` is at most 255 × 32 (RFC 5869 §2.3).
    package borrowing func hkdfSHA256(info: [UInt8], count: Int) -> SecretBytes {
        let derived = HKDF<SHA256>.deriveKey(inputKeyMaterial: self.symmetricKey(), info: info, outputByteCount: count)
        return unsafe SecretBytes(count: count) { storage in
            unsafe derived.withUnsafeBytes { bytes in unsafe storage.copyMemory(from: bytes) }
        }
    }

    /// Returns the 32-byte HMAC-SHA256 of `message` under this key.
    package borrowing func hmacSHA256(_ message: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message, using: self.symmetricKey()))
    }

    private borrowing func sealingKey() -> SymmetricKey {
        precondition(self.count == 32, "AES-256-GCM takes a key of 32 bytes")
        return self.symmetricKey()
    }

    /// Returns the key as a swift-crypto type, which wipes its copy.
    private borrowing func symmetricKey() -> SymmetricKey {
        unsafe self.withPointer { bytes in unsafe SymmetricKey(data: bytes) }
    }
}
