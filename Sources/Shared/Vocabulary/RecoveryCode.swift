/// What an issuer derives from a person's identity: the same person always has the same one (docs/protocol.md).
///
/// It links a wallet to a person whom an operator can revoke. Not a secret that opens anything, but personal data: it is
/// not printed.
public struct RecoveryCode: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// As the wallet sends it, of a length in ``allowedByteCounts``.
    public let bytes: [UInt8]

    /// A code may be as long.
    public static let allowedByteCounts = 1...128

    /// Nil when there are too few or too many bytes.
    public init?(_ bytes: some Collection<UInt8>) {
        guard Self.allowedByteCounts.contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }

    public var description: String { "(recovery code)" }
    public var debugDescription: String { "(recovery code)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A recovery code as it is kept: the vault's MAC of it, from which the code cannot be found.
public typealias RecoveryCodeMAC = FixedBytes<RecoveryCodeMACKind>

public enum RecoveryCodeMACKind: FixedBytesKind { public static let byteCount = 32 }
