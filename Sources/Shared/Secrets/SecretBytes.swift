internal import COpenSSL
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

    /// Calls `body` with a pointer to the bytes, for C functions and libraries.
    ///
    /// Only used within this target.
    borrowing func withPointer<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(self.storage))
    }

    /// Returns a copy that is not wiped.
    ///
    /// - Important: Only use this to write the contents of a slot, or if the caller wipes the copy.
    public borrowing func exposedBytes() -> [UInt8] {
        unsafe Array(self.storage)
    }

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

/// Returns whether both contain the same bytes, in time that only depends on their counts.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBytes { leftBytes in
        unsafe right.withUnsafeBytes { rightBytes in
            unsafe CRYPTO_memcmp(leftBytes.baseAddress, rightBytes.baseAddress, leftBytes.count) == 0
        }
    }
}
