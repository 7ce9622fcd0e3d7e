/// Thirty-two random bytes that the server keeps for a wallet and that the wallet needs to open its slots.
///
/// A class because messages pass through NIO, which needs copyable values: all copies share one
/// allocation, which is wiped with the last of them. A share prints as its name and has no `==`.
public final class Share: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let bytes: SecretBytes

    /// The only length a share has.
    public static let byteCount = 32

    /// Takes ownership of exactly 32 bytes; returns nil for any other number.
    public init?(_ bytes: consuming SecretBytes) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    private init(random bytes: consuming SecretBytes) {
        self.bytes = bytes
    }

    /// Copies exactly 32 bytes; returns nil for any other number.
    public convenience init?(copying bytes: some Collection<UInt8>) {
        self.init(SecretBytes(copying: bytes))
    }

    /// A new share from the operating system's generator; shares are never derived from other values.
    public static func random() -> Share {
        Share(random: .random(count: Self.byteCount))
    }

    /// Lends the bytes to `body`.
    public func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.bytes.withBytes(body)
    }

    /// Lends the bytes as a secret, for key derivation and for sealing.
    public func withSecret<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing SecretBytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.bytes)
    }

    /// Returns true if both are the same share, compared in constant time.
    public func isEqual(to other: Share) -> Bool {
        self.bytes.isEqual(to: other.bytes)
    }

    /// A separate copy, for a consuming function.
    public func copy() -> SecretBytes {
        self.bytes.withBytes { SecretBytes(copying: $0) }
    }

    /// A copy that is not wiped.
    ///
    /// - Important: Only for checks that search for leaked shares.
    public func exposedBytes() -> [UInt8] { self.bytes.exposedBytes() }

    public var description: String { "(share)" }
    public var debugDescription: String { "(share)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
