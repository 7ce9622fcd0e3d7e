/// What names a person's identity to operators: all wallets linked to one can be revoked together.
///
/// It is personal, and logs must never hold one, so it does not print itself.
public struct RecoveryCode: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// As the wallet sends it, of a length in ``allowedByteCounts``.
    public let bytes: [UInt8]

    /// A code may be as long.
    public static let allowedByteCounts = 1...128

    /// Nil when there are too few or too many bytes.
    public init?(_ bytes: [UInt8]) {
        guard Self.allowedByteCounts.contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    public var description: String { "(recovery code)" }
    public var debugDescription: String { "(recovery code)" }
}

/// A recovery code as it is kept: the vault's MAC of it, from which the code cannot be found.
public typealias RecoveryCodeMAC = FixedBytes<RecoveryCodeMACKind>

public enum RecoveryCodeMACKind: FixedBytesKind { public static let byteCount = 32 }
