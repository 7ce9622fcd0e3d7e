internal import COpenSSL

/// Bytes that are wiped when they go out of scope and can never be copied, printed or compared with `==`.
///
/// The storage is one heap allocation for the whole life of the value, so no stale copy is left behind by growth or by
/// copy-on-write. Wiping uses `OPENSSL_cleanse`, which the optimizer may not remove. The bytes are written once, before
/// the initializer returns, and only read afterwards: that is what makes the value safe to send.
@safe public struct SecretBytes: ~Copyable, @unchecked Sendable {
    private let storage: UnsafeMutableRawBufferPointer

    /// Takes over storage that was allocated for it and filled.
    private init(takingOwnershipOf storage: UnsafeMutableRawBufferPointer) {
        unsafe self.storage = storage
    }

    /// Copies the bytes; the caller's own copy stays the caller's to wipe.
    public init(copying bytes: some Collection<UInt8>) {
        unsafe self.storage = .allocate(byteCount: bytes.count, alignment: 16)
        unsafe self.storage.copyBytes(from: bytes)
    }

    /// Copies bytes that another owner lends.
    public init(copying bytes: RawSpan) {
        unsafe self.storage = .allocate(byteCount: bytes.byteCount, alignment: 16)
        unsafe bytes.withUnsafeBytes { source in unsafe self.storage.copyMemory(from: source) }
    }

    /// Copies the bytes and wipes the array they came in, which no one else may hold a copy of.
    public init(wiping bytes: inout [UInt8]) {
        self.init(copying: bytes)
        bytes.wipe()
    }

    deinit {
        unsafe OPENSSL_cleanse(self.storage.baseAddress, self.storage.count)
        unsafe self.storage.deallocate()
    }

    /// Allocates `count` bytes and lets `fill` write all of them; wiped too where `fill` throws.
    init<Failure: Error>(
        count: Int,
        filledBy fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        unsafe self.storage = .allocate(byteCount: count, alignment: 16)
        unsafe self.storage.initializeMemory(as: UInt8.self, repeating: 0)
        try unsafe fill(self.storage)
    }

    /// New random bytes from the operating system's generator, eight for each of its calls.
    public static func random(count: Int) -> SecretBytes {
        var generator = SystemRandomNumberGenerator()
        return unsafe SecretBytes(count: count) { storage in
            var word: UInt64 = 0
            for index in storage.indices {
                word = index.isMultiple(of: 8) ? generator.next() : word >> 8
                unsafe storage[index] = UInt8(truncatingIfNeeded: word)
            }
        }
    }

    /// How many bytes there are; not a secret.
    public var count: Int { unsafe self.storage.count }

    /// Lends the bytes to `body`; they cannot escape it.
    public borrowing func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(unsafe UnsafeRawBufferPointer(self.storage).bytes)
    }

    /// Lends the bytes to C and to libraries that take pointers; only within this target.
    borrowing func withPointer<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(self.storage))
    }

    /// A copy that nothing wipes.
    ///
    /// - Important: Only for writing a slot's contents, and for what wipes it itself.
    public borrowing func exposedBytes() -> [UInt8] {
        unsafe Array(self.storage)
    }

    /// Whether both hold the same bytes, in time that depends only on their counts.
    public borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
        guard self.count == other.count else { return false }
        return unsafe CRYPTO_memcmp(self.storage.baseAddress, other.storage.baseAddress, self.count) == 0
    }

    /// These bytes and then those of `other`, in one new allocation.
    public borrowing func concatenated(with other: borrowing SecretBytes) -> SecretBytes {
        let joined = UnsafeMutableRawBufferPointer.allocate(byteCount: self.count + other.count, alignment: 16)
        unsafe joined.copyMemory(from: UnsafeRawBufferPointer(self.storage))
        unsafe UnsafeMutableRawBufferPointer(rebasing: joined[self.count...])
            .copyMemory(from: UnsafeRawBufferPointer(other.storage))
        return unsafe SecretBytes(takingOwnershipOf: joined)
    }
}

extension [UInt8] {
    /// Overwrites the bytes where nobody else holds this array, and is empty afterwards.
    ///
    /// For what held a secret for a moment, as a message on its way to TLS.
    public mutating func wipe() {
        unsafe self.withUnsafeMutableBytes { bytes in unsafe OPENSSL_cleanse(bytes.baseAddress, bytes.count) }
        self = []
    }
}

/// Whether both are the same bytes, in time that depends only on their counts.
public func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBytes { leftBytes in
        unsafe right.withUnsafeBytes { rightBytes in
            unsafe CRYPTO_memcmp(leftBytes.baseAddress, rightBytes.baseAddress, leftBytes.count) == 0
        }
    }
}
