/// Thirty-two random bytes that the server keeps for a wallet and that the wallet needs to open its slots.
///
/// A class because messages pass through NIO, which needs copyable values: all copies share one
/// allocation, which is wiped with the last of them. A share prints as its name and has no `==`.
package final class Share: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let bytes: SecretBytes

    /// The only length a share has.
    package static let byteCount = 32

    /// Takes ownership of exactly 32 bytes; returns nil for any other number.
    package init?(_ bytes: consuming SecretBytes) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    private init(random bytes: consuming SecretBytes) {
        self.bytes = bytes
    }

    /// Copies exactly 32 bytes; returns nil for any other number.
    package convenience init?(copying bytes: some Collection<UInt8>) {
        self.init(SecretBytes(copying: bytes))
    }

    /// A new share from the operating system's generator; shares are never derived from other values.
    package static func random() -> Share {
        Share(random: .random(count: Self.byteCount))
    }

    /// Lends the bytes to `body`.
    package func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.bytes.withBytes(body)
    }

    /// Lends the bytes as a secret, for key derivation and for sealing.
    package func withSecret<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing SecretBytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.bytes)
    }

    /// Returns true if both are the same share, compared in constant time.
    package func isEqual(to other: Share) -> Bool {
        self.bytes.isEqual(to: other.bytes)
    }

    /// A separate copy, for a consuming function.
    package func copy() -> SecretBytes {
        self.bytes.withBytes { SecretBytes(copying: $0) }
    }

    /// A copy that is not wiped.
    ///
    /// - Important: Only for checks that search for leaked shares.
    package func exposedBytes() -> [UInt8] { self.bytes.exposedBytes() }

    package var description: String { "(share)" }
    package var debugDescription: String { "(share)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
