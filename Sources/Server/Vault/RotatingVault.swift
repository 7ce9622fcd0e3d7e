/// A vault whose keys have versions: one seals, the older ones open what they sealed.
///
/// What recovery codes are looked up by, what makes entries of the audit log, epochs and backups verifiable is under keys of
/// their own that have no versions: a new one would find no recovery code and verify nothing that was written before.
public protocol RotatingVault: Vault {
    /// Every version that opens what was sealed under it, ascending.
    var versions: [UInt32] { get }
    /// The version that seals now.
    var activeVersion: UInt32 { get }
    /// Which version sealed a value; nil where it is too short to say.
    func keyVersion(of sealed: [UInt8]) -> UInt32?
    /// Adds a version, durably, and seals with it from then on; its number.
    func addVersion() throws(KeyFileError) -> UInt32
    /// Removes versions for good, but never the one that seals: what they sealed opens no more.
    func remove(_ versions: Set<UInt32>) throws(KeyFileError)
}

extension KeyFileVault: RotatingVault {
    public func keyVersion(of sealed: [UInt8]) -> UInt32? { SealedValue.keyVersion(of: sealed) }

    public func addVersion() throws(KeyFileError) -> UInt32 {
        let version = try Self.addVersion(to: self.path)
        try self.reload()
        return version
    }

    public func remove(_ versions: Set<UInt32>) throws(KeyFileError) {
        try Self.change(self.path) { ring in ring.removing(versions) }
        try self.reload()
    }
}
