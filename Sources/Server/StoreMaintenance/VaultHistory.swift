package import Vault
package import Vocabulary
package import WalletStore

/// The check that a vault has the keys that a store was used with.
///
/// A key file from before a rotation opens only values sealed before it. The next rotation would
/// then assign a number that the store knows to a different key, after which no file would be the
/// right one. So the store records the versions that sealed in it, and a server does not start with
/// other ones.
package enum VaultHistory {
    /// Compares the keys and records the version that seals from now on.
    package static func check(
        _ vault: any RotatingVault,
        of store: any MaintenanceStore,
        at now: Timestamp
    ) async throws(VaultMismatch) {
        let active = vault.activeVersion
        let noted: [StoredVaultVersion]
        do { noted = try await store.vaultVersions() } catch { throw .store }
        if let newest = noted.last?.version, newest > active {
            throw .older(file: active, store: newest)
        }
        for known in noted {
            guard let check = known.check, let own = vault.check(of: known.version), own != check else { continue }
            throw .otherKey(known.version, check: check.hex)
        }
        let check = vault.check(of: active) ?? []
        // Without a new version nothing is written, so that a full disk does not keep a server from
        // starting.
        if !noted.contains(where: { $0.version == active && $0.check != nil }) {
            do { _ = try await store.note(vaultVersion: active, check: check, at: now) } catch { throw .store }
        }
        let records: RecordMACs
        do { records = try await store.recordMACs() } catch { throw .store }
        guard records != .ofAnotherKey else { throw .recordKey }
    }
}

/// The reason that a server does not start with this vault; each description names the remedy.
package enum VaultMismatch: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key file ends before the version that sealed last: install its newest copy.
    case older(file: UInt32, store: UInt32)
    /// The key of this version is not the store's; `check` identifies the right one.
    case otherKey(UInt32, check: String)
    /// The attempt records have MACs of another `index` key: install the newest copy of the key file.
    case recordKey
    /// The store cannot be read or written.
    case store

    package var description: String {
        switch self {
        case .older(let file, let store):
            "the key file is a copy from before a rotation: its newest key is \(file), and the store was sealed with "
                + "key \(store). Install the newest copy of the key file. Without one, all values sealed since are "
                + "lost: restore a backup from before that rotation"
        case .otherKey(let version, let check):
            "key \(version) of the key file is not the key that the store was sealed with. Install the copy of the key "
                + "file whose line `key \(version)` ends with \(check)"
        case .recordKey:
            "the key `index` of the key file is not the key of the store's attempt records. Install the copy of the "
                + "key file that the store was used with"
        case .store: "the store's record of vault keys cannot be read or written; check whether the disk is full"
        }
    }
}
