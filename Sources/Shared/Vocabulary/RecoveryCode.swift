/// A code that an issuer derives from a person's identity.
///
/// It is always the same for the same person (docs/protocol.md).
///
/// It links a wallet to a person, so that an operator can revoke all of the person's wallets. It cannot be used to open
/// anything, but it is personal data, so its description does not reveal it.
public struct RecoveryCode: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The bytes sent by the wallet: visible ASCII, whose number is in ``allowedByteCounts``.
    package let bytes: [UInt8]

    /// The allowed lengths of a code, in bytes.
    package static let allowedByteCounts = 1...128

    /// Returns nil if there are too few or too many bytes, or if one of them is not visible ASCII.
    ///
    /// Two codes that look alike are thus the same code.
    package init?(_ bytes: some Collection<UInt8>) {
        guard Self.allowedByteCounts.contains(bytes.count), bytes.allSatisfy(SecretText.isVisible) else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads a code as an issuer or an operator delivers it.
    ///
    /// Blanks and line ends around it are removed. Letters keep their case.
    ///
    /// - Throws: The reason, with the character, if the rest is not 1 to 128 visible ASCII characters.
    public init(reading text: some Collection<UInt8>) throws(SecretTextProblem) {
        self.bytes = try SecretText.bytes(text, atMost: Self.allowedByteCounts.upperBound)
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

package enum RecoveryCodeMACKind: FixedBytesKind { package static let byteCount = 32 }
