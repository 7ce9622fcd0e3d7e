internal import Secrets
internal import Vocabulary

/// A vault with several versions of its keys: one for sealing, and older ones to open the values sealed with them.
///
/// The keys for the audit log and the epochs also have versions, but the older ones only verify. The keys for
/// recovery-code lookups and backup labels have no versions. With a new lookup key, no recovery code could be found.
package protocol RotatingVault: Vault {
    /// All versions whose values can still be opened, in ascending order.
    var versions: [UInt32] { get }
    /// The version currently used for sealing.
    var activeVersion: UInt32 { get }
    /// Returns the version that a value was sealed with, or nil if the value is too short.
    func keyVersion(of sealed: [UInt8]) -> UInt32?
    /// Returns a check value that identifies a version's key without revealing it, or nil if the version is unknown.
    func check(of version: UInt32) -> [UInt8]?
    /// Adds a version durably and returns its number.
    ///
    /// If the version is activated, it is used for sealing from then on.
    func addVersion(activating: Bool) throws(KeyFileError) -> UInt32
    /// Uses a version for sealing from then on.
    func activate(_ version: UInt32) throws(KeyFileError)
    /// Permanently removes versions other than the active one.
    ///
    /// Values sealed with them can no longer be opened.
    func remove(_ versions: Set<UInt32>) throws(KeyFileError)
}

extension RotatingVault {
    /// The newest version, if it is not used for sealing yet.
    package var pendingVersion: UInt32? { self.versions.last { $0 > self.activeVersion } }

    /// The name of a version for other servers: its number and the check value of its key; nil if it is unknown.
    package func name(of version: UInt32) -> String? { self.check(of: version).map { "\(version):\($0.hex)" } }
}

extension KeyFileVault: RotatingVault {
    package func keyVersion(of sealed: [UInt8]) -> UInt32? { SealedValue.keyVersion(of: sealed) }

    package func addVersion(activating: Bool) throws(KeyFileError) -> UInt32 {
        try self.change {
            $0.adding(
                .random(count: KeyVersion.byteCount),
                history: .random(count: KeyVersion.byteCount),
                activating: activating
            )
        }.versions.last?.number ?? 0
    }

    package func activate(_ version: UInt32) throws(KeyFileError) {
        try self.change { $0.activating(version) }
    }

    package func check(of version: UInt32) -> [UInt8]? { self.keys.version(version)?.check }

    package func remove(_ versions: Set<UInt32>) throws(KeyFileError) {
        try self.change { $0.removing(versions) }
    }

    /// Changes the file only if it is consistent with the keys in use.
    ///
    /// Otherwise, if the file had been replaced with an older copy, a version number known to the store would be given
    /// to a new key.
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
