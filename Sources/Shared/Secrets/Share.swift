/// Thirty-two random bytes that are kept by the server and needed by the wallet to open its slots.
///
/// This is a class because messages go through NIO, which requires copyable values. All copies share a single
/// allocation, which is wiped when the last of them is released. The description of a share does not reveal it, and
/// shares have no `==`.
package final class Share: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let bytes: SecretBytes

    /// The length of every share.
    package static let byteCount = 32

    /// Takes ownership of exactly 32 bytes; returns nil for any other number.
    package init?(_ bytes: consuming SecretBytes) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    private init(random bytes: consuming SecretBytes) { self.bytes = bytes }

    /// Copies exactly 32 bytes; returns nil for any other number.
    package convenience init?(copying bytes: some Collection<UInt8>) {
        self.init(SecretBytes(copying: bytes))
    }

    /// Creates a share using the operating system's generator.
    ///
    /// Shares are never derived from other values.
    package static func random() -> Share { Share(random: .random(count: Self.byteCount)) }

    /// Calls `body` with the bytes.
    package func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.bytes.withBytes(body)
    }

    /// Calls `body` with the bytes as a secret, for key derivation and sealing.
    package func withSecret<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing SecretBytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.bytes)
    }

    /// Returns whether both are the same share, in constant time.
    package func isEqual(to other: Share) -> Bool { self.bytes.isEqual(to: other.bytes) }

    /// Returns a separate copy, which can be passed to a consuming function.
    package func copy() -> SecretBytes { self.bytes.withBytes { SecretBytes(copying: $0) } }

    /// Returns a copy that is not wiped.
    ///
    /// - Important: Only use this for checks that look for leaked shares.
    package func exposedBytes() -> [UInt8] { self.bytes.exposedBytes() }

    package var description: String { "(share)" }
    package var debugDescription: String { "(share)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
