/// Thirty-two random bytes that the server keeps for a wallet: without them the wallet's slots stay closed.
///
/// A class only because messages travel through NIO, which needs values that can be copied: all copies are this one
/// allocation, wiped with the last of them. It prints as its name and has no `==`.
public final class Share: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let bytes: SecretBytes

    /// The only length a share has.
    public static let byteCount = 32

    /// Takes over bytes of exactly a share's length; nil for any other.
    public init?(_ bytes: consuming SecretBytes) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    private init(random bytes: consuming SecretBytes) {
        self.bytes = bytes
    }

    /// Copies bytes of exactly a share's length; nil for any other.
    public convenience init?(copying bytes: some Collection<UInt8>) {
        self.init(SecretBytes(copying: bytes))
    }

    /// A new one, from the operating system's generator; shares are never derived from anything.
    public static func random() -> Share {
        Share(random: .random(count: Self.byteCount))
    }

    /// Lends the bytes to `body`.
    public func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.bytes.withBytes(body)
    }

    /// Lends the bytes as what keys are derived from and vaults seal.
    public func withSecret<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing SecretBytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.bytes)
    }

    /// Whether both are the same share, in constant time.
    public func isEqual(to other: Share) -> Bool {
        self.bytes.isEqual(to: other.bytes)
    }

    /// A copy of its own, for a step that consumes it.
    public func copy() -> SecretBytes {
        self.bytes.withBytes { SecretBytes(copying: $0) }
    }

    /// A copy that nothing wipes.
    ///
    /// - Important: Only for what looks for it where it must not be.
    public func exposedBytes() -> [UInt8] { self.bytes.exposedBytes() }

    public var description: String { "(share)" }
    public var debugDescription: String { "(share)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
