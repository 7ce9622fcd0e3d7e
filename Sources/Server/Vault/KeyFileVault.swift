internal import HostSystem
package import Secrets
package import Statements
internal import Synchronization
package import Vocabulary

/// A vault whose keys are stored in a file on the server's machine.
///
/// It protects copies and backups of the database from an attacker who does not have the file. An attacker who has both
/// can do everything the vault can, but PINs remain safe (G1) because their salts are on the devices.
package final class KeyFileVault: Vault {
    package let path: String
    private let ring: Mutex<KeyRing>

    /// Reads a key file.
    ///
    /// Rejects it if other users can read it.
    package init(_ path: String) throws(KeyFileError) {
        self.path = path
        self.ring = Mutex(try KeyFile.read(path))
    }

    /// Creates a key file with mode 0600 that contains one version of keys.
    ///
    /// An existing file is never overwritten, because it may contain the only keys to existing wallets.
    package static func create(at path: String) throws(KeyFileError) {
        guard let version = KeyVersion(number: 1, root: .random(count: KeyVersion.byteCount)),
            let history = HistoryKeys(number: 1, root: .random(count: KeyVersion.byteCount)),
            let ring = KeyRing(
                versions: [version],
                active: 1,
                index: .random(count: KeyVersion.byteCount),
                history: [history]
            )
        else { preconditionFailure("a new key has the length of a key") }
        try self.lend(ring) { text throws(FileError) in try DurableFile.create(text, at: path) }
    }

    /// Replaces the keys in the file with the result of a change.
    ///
    /// Concurrent changes wait for each other.
    static func change(
        _ path: String,
        _ make: (KeyRing) throws(KeyFileError) -> KeyRing?
    ) throws(KeyFileError) -> KeyRing {
        let lock = try mapError(FileLock(waitingFor: path + ".lock"), to: KeyFileError.file)
        defer { withExtendedLifetime(lock) {} }
        guard let ring = try make(try KeyFile.read(path)) else { throw .damaged(path, line: 1) }
        try self.lend(ring) { text throws(FileError) in
            // A larger file could not be read again.
            guard text.count <= KeyFile.sizeLimit else { throw .tooLarge(path, limit: KeyFile.sizeLimit) }
            try DurableFile.write(text, to: path)
        }
        return ring
    }

    /// Reads the file again.
    ///
    /// Keeps the current keys if the file cannot be used. With another vault's key file, or one from before a rotation,
    /// the server would seal and sign with keys unknown to its store and audit log. This could not be undone.
    package func reload() throws(KeyFileError) {
        let fresh = try KeyFile.read(self.path)
        let path = self.path
        try self.ring.withLock { ring throws(KeyFileError) in
            guard fresh.continues(ring) else { throw .otherKeys(path) }
            ring = fresh
        }
    }

    /// The version currently used for sealing.
    package var activeVersion: UInt32 { self.keys.active.number }

    /// All versions whose values can still be opened, in ascending order.
    package var versions: [UInt32] { self.keys.versions.map(\.number) }

    package func keys(of wallet: WalletID, opening sealed: [[UInt8]]) async throws(VaultError) -> WalletKeys {
        let (keys, named) = (self.keys, Set(sealed.compactMap(SealedValue.keyVersion)))
        let versions = keys.versions.filter { $0.number == keys.active.number || named.contains($0.number) }
        return WalletKeys(of: wallet, versions.map { $0.key(of: wallet) })
    }

    package func sealIdentity(_ identity: borrowing SecretBytes, of wallet: WalletID) -> [UInt8] {
        self.keys.active.identityKey(of: wallet).seal(identity, VaultField.identity.associatedData(of: wallet))
    }

    package func openIdentity(_ sealed: [UInt8], of wallet: WalletID) throws(VaultError) -> SecretBytes {
        guard let number = SealedValue.keyVersion(of: sealed), let version = self.keys.version(number) else {
            throw .notOurs
        }
        return try version.identityKey(of: wallet).open(sealed, VaultField.identity.associatedData(of: wallet))
    }

    package func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] {
        switch use {
        case .enrollmentToken: self.keys.active.tokenMAC(message)
        case .auditLog, .storeEpoch: self.keys.historyMAC(message, for: use)
        case .recoveryCodeIndex, .backup, .attemptRecords: self.keys.lastingMAC(message, for: use)
        }
    }

    package func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        let keys = self.keys
        switch use {
        case .enrollmentToken:
            return keys.tokenVersions.contains { constantTimeEqual($0.tokenMAC(message), mac) }
        case .auditLog, .storeEpoch: return keys.isHistoryMAC(mac, of: message, for: use)
        case .recoveryCodeIndex, .backup, .attemptRecords:
            return constantTimeEqual(keys.lastingMAC(message, for: use), mac)
        }
    }

    var keys: KeyRing { self.ring.withLock { $0 } }

    /// Passes the text of the file to a writer.
    private static func lend(
        _ ring: KeyRing,
        to write: ([UInt8]) throws(FileError) -> Void
    ) throws(KeyFileError) {
        var text = KeyFile.text(of: ring).exposedBytes()
        defer { _ = SecretBytes(wiping: &text) }
        try mapError(write(text), to: KeyFileError.file)
    }
}

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

/// Signs receipts with the receipt key of the version that the store names.
///
/// The receipt key of each version is derived from its root when the file is read. Rotating the vault's keys therefore
/// also rotates the receipt key, and a restored store keeps the same receipt keys.
extension KeyFileVault: ReceiptSigner {
    package func sign(
        root: SHA256Digest,
        epoch: UInt64,
        at time: Timestamp,
        by version: UInt32?
    ) -> SignedRoot? {
        let keys = self.keys
        return keys.version(version ?? keys.active.number)?.receipts.sign(root: root, epoch: epoch, at: time)
    }

    /// The signer of receipts.
    package var receiptSigner: any ReceiptSigner { self }

    /// The keys that wallets may have pinned, in ascending order, each signed by its predecessor, up to that of a
    /// version.
    ///
    /// Contains at most ``ReceiptKeyLink/mostLinks``; nil without that version.
    ///
    /// - Parameter version: The version that the store names; nil if it names none, which means the active one.
    package func receiptKeys(upTo version: UInt32?) -> [ReceiptKeyLink]? {
        let keys = self.keys
        guard let last = keys.version(version ?? keys.active.number)?.number else { return nil }
        return Array(keys.receiptKeys.prefix { $0.key.id <= last }.suffix(ReceiptKeyLink.mostLinks))
    }
}
