internal import Secrets

/// A vault whose keys have versions: one seals, the older ones open what they sealed.
///
/// What recovery codes are looked up by, what makes entries of the audit log, epochs and backups verifiable is under keys of
/// their own that have no versions: a new one would find no recovery code and verify nothing that was written before.
package protocol RotatingVault: Vault {
    /// Every version that opens what was sealed under it, ascending.
    var versions: [UInt32] { get }
    /// The version that seals now.
    var activeVersion: UInt32 { get }
    /// Which version sealed a value; nil where it is too short to say.
    func keyVersion(of sealed: [UInt8]) -> UInt32?
    /// What a version's key is recognized by, from which nobody finds it; nil where there is no such version.
    func check(of version: UInt32) -> [UInt8]?
    /// Adds a version, durably, and seals with it from then on; its number.
    func addVersion() throws(KeyFileError) -> UInt32
    /// Removes versions for good, but never the one that seals: what they sealed opens no more.
    func remove(_ versions: Set<UInt32>) throws(KeyFileError)
}

extension KeyFileVault: RotatingVault {
    package func keyVersion(of sealed: [UInt8]) -> UInt32? { SealedValue.keyVersion(of: sealed) }

    package func addVersion() throws(KeyFileError) -> UInt32 {
        try self.change { $0.adding(.random(count: KeyVersion.byteCount)) }.active.number
    }

    package func check(of version: UInt32) -> [UInt8]? { self.keys.version(version)?.check }

    package func remove(_ versions: Set<UInt32>) throws(KeyFileError) {
        try self.change { $0.removing(versions) }
    }

    /// Changes the file only where it goes on from the keys in use: an older copy that somebody put there would get another
    /// key under a number that the store knows already.
    @discardableResult
    private func change(_ make: (KeyRing) -> KeyRing?) throws(KeyFileError) -> KeyRing {
        let (path, known) = (self.path, self.keys)
        let ring = try Self.change(path) { (file: KeyRing) throws(KeyFileError) in
            guard file.continues(known) else { throw .otherKeys(path) }
            return make(file)
        }
        try self.reload()
        return ring
    }
}
