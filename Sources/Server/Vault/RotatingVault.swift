internal import Secrets

/// A vault with versions of its keys: one seals, the older ones open the values that they sealed.
///
/// The keys of the audit log and the epochs have versions as well, of which the older ones only verify. The lookups of
/// recovery codes and the labels of backups use keys without versions: with a new key no recovery code would be found.
package protocol RotatingVault: Vault {
    /// All versions whose values still open, in ascending order.
    var versions: [UInt32] { get }
    /// The version that seals now.
    var activeVersion: UInt32 { get }
    /// Returns the version that sealed a value, or nil if the value is too short.
    func keyVersion(of sealed: [UInt8]) -> UInt32?
    /// Returns a check value that identifies a version's key without revealing it, or nil for an unknown version.
    func check(of version: UInt32) -> [UInt8]?
    /// Adds a version durably and seals with it from then on; returns its number.
    func addVersion() throws(KeyFileError) -> UInt32
    /// Removes versions permanently, never the active one; values that they sealed no longer open.
    func remove(_ versions: Set<UInt32>) throws(KeyFileError)
}

extension KeyFileVault: RotatingVault {
    package func keyVersion(of sealed: [UInt8]) -> UInt32? { SealedValue.keyVersion(of: sealed) }

    package func addVersion() throws(KeyFileError) -> UInt32 {
        try self.change {
            $0.adding(.random(count: KeyVersion.byteCount), history: .random(count: KeyVersion.byteCount))
        }.active.number
    }

    package func check(of version: UInt32) -> [UInt8]? { self.keys.version(version)?.check }

    package func remove(_ versions: Set<UInt32>) throws(KeyFileError) {
        try self.change { $0.removing(versions) }
    }

    /// Changes the file only if it continues the keys in use: an older copy in its place would assign another key
    /// to a number that the store already knows.
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
