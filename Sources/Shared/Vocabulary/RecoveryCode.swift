/// A code that an issuer derives from a person's identity.
///
/// It is always the same for the same person (docs/protocol.md).
///
/// It links a wallet to a person, so that an operator can revoke all of the person's wallets. It cannot be used to open
/// anything, but it is personal data, so its description does not reveal it.
public struct RecoveryCode: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The bytes sent by the wallet, whose number is in ``allowedByteCounts``.
    package let bytes: [UInt8]

    /// The allowed lengths of a code, in bytes.
    package static let allowedByteCounts = 1...128

    /// Returns nil if there are too few or too many bytes.
    public init?(_ bytes: some Collection<UInt8>) {
        guard Self.allowedByteCounts.contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }

    /// A constant, so that messages and logs do not contain the code.
    public var description: String { "(recovery code)" }
    /// A constant, because the description of an array or an optional prints this one.
    public var debugDescription: String { "(recovery code)" }
    /// Empty, so that `dump` does not print the bytes.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The stored form of a recovery code: a MAC computed by the vault.
///
/// It does not reveal the code.
package typealias RecoveryCodeMAC = FixedBytes<RecoveryCodeMACKind>

/// The kind of ``RecoveryCodeMAC``.
package enum RecoveryCodeMACKind: FixedBytesKind { package static let byteCount = 32 }
