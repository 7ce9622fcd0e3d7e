/// What an issuer derives from a person's identity: the same person always has the same one (docs/protocol.md).
///
/// It links a wallet to a person whom an operator can revoke. Not a secret that opens anything, but personal data: it is
/// not printed.
public struct RecoveryCode: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let bytes: [UInt8]

    /// Nil where there are none or more than 128 bytes.
    public init?(_ bytes: some Collection<UInt8>) {
        guard (1...128).contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }

    public var description: String { "(recovery code)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
