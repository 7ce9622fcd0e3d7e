internal import HostSystem
internal import Secrets
package import Vault
package import Vocabulary
package import WalletStore

/// Checks that a vault has the keys that a store was used with.
///
/// A key file from before a rotation only opens values sealed before it. The next rotation would then assign a version
/// number that the store already knows to a different key, after which no key file would be right. The store therefore
/// records the versions that sealed its values, and a server does not start with other keys.
package enum VaultHistory {
    /// Compares the keys with the store's records, and records the version that will be used for sealing.
    ///
    /// - Parameter lease: This server's lease, which names the keys of the other servers.
    package static func check(
        _ vault: KeyFileVault,
        of store: any WalletStore,
        _ lease: (any ServerLease)? = nil,
        at now: Timestamp
    ) async throws(VaultMismatch) {
        let noted = try await mapError(of: await store.vaultVersions(), to: VaultMismatch.init)
        // Activated by another server while this one, which has its key, was stopped.
        if let newest = noted.last, newest.version > vault.activeVersion,
            vault.check(of: newest.version) == newest.check
        {
            do { try await vault.activate(newest.version) } catch { throw .keyFile("\(error)") }
        }
        let active = vault.activeVersion
        if let newest = noted.last?.version, newest > active {
            throw .older(file: active, store: newest)
        }
        for known in noted {
            guard let own = vault.check(of: known.version), own != known.check else { continue }
            guard try await !Self.opensValues(of: known.version, in: store, vault) else {
                throw .damaged("its note of key \(known.version)")
            }
            throw .otherKey(known.version, check: known.check.hex)
        }
        let check = vault.check(of: active) ?? []
        // Nothing is written unless the version is new, so that a full disk does not prevent a start.
        if !noted.contains(where: { $0.version == active }) {
            do throws(StoreError) {
                _ = try await store.note(vaultVersion: active, check: check, at: now)
            } catch {
                let lacking = lease.flatMap { lease in vault.name(of: active).map(lease.servers(lacking:)) } ?? []
                throw lacking.isEmpty ? VaultMismatch(error) : .missingElsewhere(active, servers: lacking)
            }
        }
        guard try await !mapError(of: await store.recordKeyFits(), to: VaultMismatch.init) else { return }
        let records = try await mapError(
            of: await store.listing(after: nil, limit: Self.sampleSize),
            to: VaultMismatch.init
        )
        // The attempt records themselves show whether the key or the note of it is wrong.
        throw records.contains { $0.attempts != nil } ? .damaged("its note of the key `index`") : .recordKey
    }

    /// The number of wallets read to find out whether the keys or the store's notes of them are wrong.
    private static let sampleSize = 200

    /// Returns whether a value that was sealed with this version opens, so that its key is the right one.
    private static func opensValues(
        of version: UInt32,
        in store: any WalletStore,
        _ vault: KeyFileVault
    ) async throws(VaultMismatch) -> Bool {
        let wallets = try await mapError(
            of: await store.sealedValues(after: nil, limit: Self.sampleSize),
            to: VaultMismatch.init
        )
        for wallet in wallets {
            let values = wallet.values.byField.filter { vault.keyVersion(of: $0.sealed) == version }
            guard let keys = try? await vault.keys(of: wallet.walletID, opening: values.map(\.sealed)) else { continue }
            for (field, sealed) in values where vault.opens(sealed, as: field, with: keys) { return true }
        }
        return false
    }
}

/// A reason why a server does not start with this vault.
///
/// Each description says how to fix it.
package enum VaultMismatch: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key file ends before the version that was last active.
    ///
    /// Install its newest copy.
    case older(file: UInt32, store: UInt32)
    /// The key for this version is not the one that the store was used with.
    ///
    /// `check` identifies the right key.
    case otherKey(UInt32, check: String)
    /// The MACs of the attempt records were made with another `index` key.
    ///
    /// Install the newest copy of the key file.
    case recordKey
    /// The key file cannot be changed; contains the reason.
    case keyFile(String)
    /// These servers of the store lack the version, so it must not be used for sealing.
    case missingElsewhere(UInt32, servers: [String])
    /// The store cannot be read or written.
    case store
    /// This part of the store is damaged, and the keys are the right ones as far as the store shows.
    ///
    /// Restore a backup; another key file would make things worse.
    case damaged(String)

    fileprivate init(_ error: StoreError) {
        self = error == .corrupt ? .damaged("its record of vault keys") : .store
    }

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
        case .keyFile(let reason): "the key file cannot be changed: \(reason)"
        case .missingElsewhere(let version, let servers):
            "key \(version) of the key file seals only once every server has it, and these lack it: "
                + "\(servers.joined(separator: ", ")). Copy the key file to them, and run `admin reload` there"
        case .damaged(let part):
            "the store is damaged: \(part) is not what a server wrote, although the keys of the key file fit the "
                + "wallets. Leave the key file as it is, and restore a backup of the store"
        case .store:
            "the store's record of vault keys cannot be read or written; check whether the disk is full, or with "
                + "PostgreSQL the database's log"
        }
    }
}

extension RecordKey {
    /// Derives the key for the MACs of attempt records.
    ///
    /// It stays the same when the vault's keys are rotated.
    package static func derived(by vault: any Vault) -> RecordKey {
        var bytes = vault.mac(Array("remote-pin/1 attempt records".utf8), for: .attemptRecords)
        return RecordKey(SecretBytes(wiping: &bytes))
    }
}
