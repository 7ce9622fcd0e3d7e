/// The code that an issuer derives from a person's identity, always the same for the same person (docs/protocol.md).
///
/// It links a wallet to a person, whose wallets an operator can revoke. It cannot be used to open anything, but it is
/// personal data, so its description does not reveal it.
public struct RecoveryCode: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The bytes that the wallet sends, with a length in ``allowedByteCounts``.
    public let bytes: [UInt8]

    /// The lengths that a code may have.
    public static let allowedByteCounts = 1...128

    /// Returns nil for too few or too many bytes.
    public init?(_ bytes: some Collection<UInt8>) {
        guard Self.allowedByteCounts.contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }

    public var description: String { "(recovery code)" }
    public var debugDescription: String { "(recovery code)" }
    /// Empty, so that `dump` does not print the bytes.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The stored form of a recovery code: the vault's MAC of it, which does not reveal the code.
package typealias RecoveryCodeMAC = FixedBytes<RecoveryCodeMACKind>

/// The kind of ``RecoveryCodeMAC``.
package enum RecoveryCodeMACKind: FixedBytesKind { package static let byteCount = 32 }
