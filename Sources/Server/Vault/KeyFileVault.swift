internal import HostSystem
internal import Secrets
package import Statements
internal import Synchronization
package import Vocabulary

/// A vault whose roots are in a file on the server's machine, or in a module that the file refers to.
///
/// With roots in the file, it protects copies and backups of the database from an attacker who does not have the file.
/// An attacker who has both can do everything the vault can, but PINs remain safe (G1) because their salts are on the
/// devices. With roots in a module, the attacker also needs the module.
package final class KeyFileVault: Vault {
    package let path: String
    /// The module behind `vault.socket`, if one is set.
    package let module: ModuleKeys?
    private let ring: Mutex<KeyRing>
    /// The oldest version that may seal for a wallet without any values.
    private let oldestForNew = Mutex<UInt32>(0)
    /// Held while the file is read or changed.
    private let lock = AsyncLock()

    /// Reads a key file.
    ///
    /// Rejects it if other users can read it, and if a module does not have the roots that the file refers to.
    package init(_ path: String, module: ModuleKeys? = nil) async throws(KeyFileError) {
        let ring = try await KeyRing(try KeyFile.read(path, module))
        (self.path, self.module) = (path, module)
        self.ring = Mutex(ring)
        module?.expect(ring.moduleKeys)
    }

    /// Creates a key file with mode 0600 that contains one version of keys.
    ///
    /// An existing file is never overwritten, because it may contain the only keys to existing wallets.
    package static func create(at path: String) throws(KeyFileError) {
        let lines = KeyFileLines(
            path: path,
            module: nil,
            index: .random(.index),
            versions: [.random(RootName(kind: .key, number: 1))],
            history: [.random(RootName(kind: .history, number: 1))],
            active: 1
        )
        try self.lend(lines) { text throws(FileError) in try DurableFile.create(text, at: path) }
    }

    /// Replaces the lines of the file, unless another process has changed them since they were read.
    private static func replace(_ old: KeyFileLines, with new: KeyFileLines) throws(KeyFileError) -> Bool {
        let path = old.path
        let lock = try mapError(FileLock(waitingFor: path + ".lock"), to: KeyFileError.file)
        defer { withExtendedLifetime(lock) {} }
        guard try KeyFile.read(path, old.module).isSame(as: old) else { return false }
        try self.lend(new) { text throws(FileError) in
            // A larger file could not be read again.
            guard text.count <= KeyFile.sizeLimit else { throw .tooLarge(path, limit: KeyFile.sizeLimit) }
            try DurableFile.write(text, to: path)
        }
        return true
    }

    /// Reads the file again.
    ///
    /// Keeps the current keys if the file cannot be used. With another vault's key file, or one from before a rotation,
    /// the server would seal and sign with keys unknown to its store and audit log. This could not be undone.
    package func reload() async throws(KeyFileError) {
        await self.lock.acquire()
        defer { self.lock.release() }
        try self.use(try await KeyRing(try KeyFile.read(self.path, self.module), known: self.keys))
    }

    private func use(_ fresh: KeyRing) throws(KeyFileError) {
        let path = self.path
        try self.ring.withLock { ring throws(KeyFileError) in
            guard fresh.continues(ring) else { throw .otherKeys(path) }
            ring = fresh
        }
        self.module?.expect(fresh.moduleKeys)
    }

    /// The reason the module cannot be used, or nil if it can, or if no version's keys are in a module.
    package var problem: String? { self.keys.moduleKeys.isEmpty ? nil : self.module?.problem }

    /// The version currently used for sealing.
    package var activeVersion: UInt32 { self.keys.active.number }

    /// All versions whose values can still be opened, in ascending order.
    package var versions: [UInt32] { self.keys.versions.map(\.number) }

    package func keys(of wallet: WalletID, opening sealed: [[UInt8]]) async throws(VaultError) -> WalletKeys {
        let (keys, named) = (self.keys, Set(sealed.compactMap(SealedValue.keyVersion)))
        guard !sealed.isEmpty || keys.active.number >= self.oldestForNew.withLock(\.self) else { throw .unreachable }
        var found: [WalletKey] = []
        do throws(ModuleFailure) {
            for version in keys.versions where version.number == keys.active.number || named.contains(version.number) {
                found.append(try await version.key(of: wallet))
            }
        } catch {
            throw .unreachable
        }
        return WalletKeys(of: wallet, found)
    }

    package func sealIdentity(_ identity: LayeredIdentity, of wallet: WalletID) throws(VaultError) -> [UInt8] {
        guard let number = SealedValue.keyVersion(of: identity.pinKey), let version = self.keys.version(number) else {
            throw .noKey
        }
        let bytes = SecretBytes(copying: identity.bytes)
        return version.identityKey(of: wallet).seal(bytes, VaultField.identity.associatedData(of: wallet))
    }

    package func openIdentity(_ sealed: [UInt8], of wallet: WalletID) throws(VaultError) -> LayeredIdentity {
        guard let number = SealedValue.keyVersion(of: sealed), let version = self.keys.version(number) else {
            throw .notOurs
        }
        let data = VaultField.identity.associatedData(of: wallet)
        guard let identity = LayeredIdentity(try version.identityKey(of: wallet).open(sealed, data).exposedBytes())
        else { throw .notOurs }
        return identity
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
        _ lines: KeyFileLines,
        to write: ([UInt8]) throws(FileError) -> Void
    ) throws(KeyFileError) {
        var text = KeyFile.text(of: lines).exposedBytes()
        defer { _ = SecretBytes(wiping: &text) }
        try mapError(write(text), to: KeyFileError.file)
    }
}

/// Several versions of the keys: one for sealing, and older ones to open the values sealed with them.
///
/// The keys for the audit log and the epochs also have versions, but the older ones only verify. The keys for
/// recovery-code lookups and backup labels have no versions. With a new lookup key, no recovery code could be found.
extension KeyFileVault {
    /// The newest version, if it is not used for sealing yet.
    package var pendingVersion: UInt32? { self.versions.last { $0 > self.activeVersion } }

    /// The name of a version for other servers: its number and the check value of its key; nil if it is unknown.
    package func name(of version: UInt32) -> String? { self.check(of: version).map { "\(version):\($0.hex)" } }

    /// Returns the version that a value was sealed with, or nil if the value is too short.
    package func keyVersion(of sealed: [UInt8]) -> UInt32? { SealedValue.keyVersion(of: sealed) }

    /// Adds a version durably and returns its number.
    ///
    /// Its roots are in the module if that has both keys for the next number. They are random and in the file if it has
    /// neither and no version is in the module yet. If the version is activated, it is used for sealing from then on.
    package func addVersion(activating: Bool) async throws(KeyFileError) -> UInt32 {
        try await self.change { lines throws(KeyFileError) in
            // The index key does not change, because lookups that use it must keep working.
            var lines = lines
            let number = (lines.versions.last?.name.number ?? 0) + 1
            var key = KeyRoot.random(RootName(kind: .key, number: number))
            var history = KeyRoot.random(RootName(kind: .history, number: number))
            if let roots = try await lines.findInModule(key.name, history.name) { (key, history) = roots }
            lines.versions.append(key)
            lines.history.append(history)
            if activating { lines.active = number }
            return lines
        }.versions.last?.number ?? 0
    }

    /// Uses a version for sealing from then on.
    package func activate(_ version: UInt32) async throws(KeyFileError) {
        try await self.change { lines in
            var lines = lines
            lines.active = version
            return lines
        }
    }

    /// Derives no keys for a wallet without any values from now on, unless at least this version is active.
    package func requireForNew(_ version: UInt32) { self.oldestForNew.withLock { $0 = version } }

    /// Returns a check value that identifies a version's key without revealing it, or nil if the version is unknown.
    package func check(of version: UInt32) -> [UInt8]? { self.keys.version(version)?.root.check }

    /// Returns whether a version's root is in a module, or nil if the version is unknown.
    package func isInModule(_ version: UInt32) -> Bool? { self.keys.version(version)?.root.isInModule }

    /// Permanently removes versions other than the active one.
    ///
    /// Values sealed with them can no longer be opened.
    package func remove(_ versions: Set<UInt32>) async throws(KeyFileError) {
        try await self.change { lines in
            var lines = lines
            lines.versions.removeAll { versions.contains($0.name.number) }
            return lines
        }
    }

    /// Changes the file only if it is consistent with the keys in use.
    ///
    /// Otherwise, if the file had been replaced with an older copy, a version number known to the store would be given
    /// to a new key. The file is locked only while it is compared and written, because a module may take long to
    /// answer.
    @discardableResult
    private func change(
        _ make: (KeyFileLines) async throws(KeyFileError) -> KeyFileLines
    ) async throws(KeyFileError) -> KeyRing {
        await self.lock.acquire()
        defer { self.lock.release() }
        while true {
            let read = try KeyFile.read(self.path, self.module)
            let file = try await KeyRing(read, known: self.keys)
            guard file.continues(self.keys) else { throw .otherKeys(self.path) }
            let ring = try await KeyRing(try await make(file.lines), known: file)
            guard try Self.replace(read, with: ring.lines) else { continue }
            try self.use(ring)
            return ring
        }
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
