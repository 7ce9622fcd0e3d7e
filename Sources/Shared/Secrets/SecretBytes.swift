internal import COpenSSL
package import Crypto
internal import FoundationEssentials
internal import Glibc

/// Bytes that are wiped at the end of their lifetime and cannot be copied, printed or compared with `==`.
///
/// The storage is a single heap allocation for the whole lifetime, so growing or copy-on-write cannot leave stale
/// copies behind. Wiping uses `OPENSSL_cleanse`, which is not removed by the optimizer. The bytes are written once,
/// before the initializer returns, and only read after that, which makes the value safe to send.
@safe public struct SecretBytes: ~Copyable, @unchecked Sendable {
    private let storage: UnsafeMutableRawBufferPointer

    /// Takes ownership of allocated and initialized storage.
    private init(takingOwnershipOf storage: UnsafeMutableRawBufferPointer) {
        unsafe self.storage = storage
    }

    /// Copies the bytes.
    ///
    /// The caller is still responsible for wiping the original.
    public init(copying bytes: some Collection<UInt8>) {
        unsafe self.storage = .allocate(byteCount: bytes.count, alignment: 16)
        unsafe self.storage.copyBytes(from: bytes)
    }

    /// Copies borrowed bytes.
    public init(copying bytes: RawSpan) {
        unsafe self.storage = .allocate(byteCount: bytes.byteCount, alignment: 16)
        unsafe bytes.withUnsafeBytes { source in unsafe self.storage.copyMemory(from: source) }
    }

    /// Copies the bytes and wipes the array, which must be the only reference to its storage.
    public init(wiping bytes: inout [UInt8]) {
        self.init(copying: bytes)
        bytes.wipe()
    }

    deinit {
        unsafe OPENSSL_cleanse(self.storage.baseAddress, self.storage.count)
        unsafe self.storage.deallocate()
    }

    /// Allocates `count` bytes, to be written by `fill`.
    ///
    /// If `fill` throws, they are also wiped.
    init<Failure: Error>(
        count: Int,
        filledBy fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        unsafe self.storage = .allocate(byteCount: count, alignment: 16)
        unsafe self.storage.initializeMemory(as: UInt8.self, repeating: 0)
        try unsafe fill(self.storage)
    }

    /// Returns random bytes from the operating system's generator, which is called once for every eight bytes.
    package static func random(count: Int) -> SecretBytes {
        var generator = SystemRandomNumberGenerator()
        return unsafe SecretBytes(count: count) { storage in
            var word: UInt64 = 0
            for index in storage.indices {
                word = index.isMultiple(of: 8) ? generator.next() : word >> 8
                unsafe storage[index] = UInt8(truncatingIfNeeded: word)
            }
        }
    }

    /// Keeps the memory page that contains these bytes out of swap space until the process ends (mlock(2)).
    ///
    /// This is meant for a few keys that live as long as the process. It has no effect if the process is not allowed to
    /// lock any more pages.
    package borrowing func keepOutOfSwap() {
        unsafe _ = mlock(self.storage.baseAddress, self.storage.count)
    }

    /// The number of bytes, which is not secret.
    public var count: Int { unsafe self.storage.count }

    /// Calls `body` with the bytes, which cannot escape it.
    public borrowing func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(unsafe UnsafeRawBufferPointer(self.storage).bytes)
    }

    /// Calls `body` with a pointer to the bytes, for C functions and libraries; only used within this target.
    borrowing func withPointer<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(self.storage))
    }

    /// Returns a copy that is not wiped.
    ///
    /// - Important: Only use this to write the contents of a slot, or if the caller wipes the copy.
    public borrowing func exposedBytes() -> [UInt8] { unsafe Array(self.storage) }

    /// Returns whether both contain the same bytes, in time that only depends on their counts.
    package borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
        guard self.count == other.count else { return false }
        return unsafe CRYPTO_memcmp(self.storage.baseAddress, other.storage.baseAddress, self.count) == 0
    }

    /// Returns these bytes followed by those of `other`, in a single new allocation.
    package borrowing func concatenated(with other: borrowing SecretBytes) -> SecretBytes {
        let joined = UnsafeMutableRawBufferPointer.allocate(byteCount: self.count + other.count, alignment: 16)
        unsafe joined.copyMemory(from: UnsafeRawBufferPointer(self.storage))
        unsafe UnsafeMutableRawBufferPointer(rebasing: joined[self.count...])
            .copyMemory(from: UnsafeRawBufferPointer(other.storage))
        return unsafe SecretBytes(takingOwnershipOf: joined)
    }
}

extension [UInt8] {
    /// Overwrites the bytes and empties the array.
    ///
    /// Use this for short-lived copies of a secret, such as a message before encryption. If the storage is shared with
    /// another array, that array keeps the bytes.
    public mutating func wipe() {
        unsafe self.withUnsafeMutableBytes { bytes in unsafe OPENSSL_cleanse(bytes.baseAddress, bytes.count) }
        self = []
    }
}

extension Collection<UInt8> {
    /// Overwrites the bytes in place, and so for all holders of their storage, such as a library's pool of buffers.
    ///
    /// - Important: Only use this for received bytes that no holder reads again.
    /// - Precondition: The bytes are contiguous and on the heap.
    package func wipeShared() {
        let isWiped: Void? = self.withContiguousStorageIfAvailable { bytes in
            unsafe OPENSSL_cleanse(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
        }
        precondition(isWiped != nil, "only contiguous bytes can be wiped")
    }
}

/// Returns whether both contain the same bytes, in time that only depends on their counts.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBytes { leftBytes in
        unsafe right.withUnsafeBytes { rightBytes in
            unsafe CRYPTO_memcmp(leftBytes.baseAddress, rightBytes.baseAddress, leftBytes.count) == 0
        }
    }
}

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

/// Secrets in text form, only for files that are protected as well as the secrets themselves.
extension SecretBytes {
    /// Parses lowercase hexadecimal digits, two per byte; returns nil for any other text.
    package init?(hexadecimal digits: RawSpan) {
        guard var bytes = Self.bytes(of: digits) else { return nil }
        self.init(wiping: &bytes)
    }

    /// Returns the bytes as lowercase hexadecimal digits in ASCII.
    package borrowing func hexadecimal() -> SecretBytes {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(self.count * 2)
        self.withBytes { span in
            for index in 0..<span.byteCount {
                text.append(digits[Int(span.byte(at: index) >> 4)])
                text.append(digits[Int(span.byte(at: index) & 0x0F)])
            }
        }
        return SecretBytes(wiping: &text)
    }

    private static func bytes(of digits: RawSpan) -> [UInt8]? {
        guard digits.byteCount.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.byteCount / 2)
        for index in stride(from: 0, to: digits.byteCount, by: 2) {
            guard let high = self.value(of: digits.byte(at: index)),
                let low = self.value(of: digits.byte(at: index + 1))
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}

extension RawSpan {
    /// Returns the byte at `index`, with a bounds check.
    package func byte(at index: Int) -> UInt8 {
        unsafe self.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }
}
