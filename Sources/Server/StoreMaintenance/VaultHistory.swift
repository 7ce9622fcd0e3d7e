package import Vault
package import Vocabulary
package import WalletStore

/// Whether a vault's keys are those that a store was used with.
///
/// A key file from before a rotation opens what was sealed before it and nothing that came since; and the next rotation
/// would give a number that the store knows to another key, after which no file is the right one. So the store keeps which
/// versions sealed in it, and a server does not start with others.
package enum VaultHistory {
    /// Compares them, and notes the version that seals from here on.
    package static func check(
        _ vault: any RotatingVault,
        of store: any MaintenanceStore,
        at now: Timestamp
    ) async throws(VaultMismatch) {
        let active = vault.activeVersion
        let noted = try await Self.asked { () throws(StoreError) in try await store.vaultVersions() }
        if let newest = noted.last?.version, newest > active {
            throw .older(file: active, store: newest)
        }
        for known in noted {
            guard let check = known.check, let own = vault.check(of: known.version), own != check else { continue }
            throw .otherKey(known.version, check: check.hex)
        }
        let check = vault.check(of: active) ?? []
        // Nothing is written where nothing is new: a full disk keeps no server from starting that it need not.
        guard !noted.contains(where: { $0.version == active && $0.check != nil }) else { return }
        _ = try await Self.asked { () throws(StoreError) in
            try await store.note(vaultVersion: active, check: check, at: now)
        }
    }

    private static func asked<Answer>(
        _ question: () async throws(StoreError) -> Answer
    ) async throws(VaultMismatch) -> Answer {
        do throws(StoreError) { return try await question() } catch { throw .store }
    }
}

/// Why a server does not start with this vault; each says the way out.
package enum VaultMismatch: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key file ends before the version that sealed last: put the newest copy in its place.
    case older(file: UInt32, store: UInt32)
    /// The key of this version is another one; the check is that of the right one.
    case otherKey(UInt32, check: String)
    /// The store could not be asked.
    case store

    package var description: String {
        switch self {
        case .older(let file, let store):
            "the key file is a copy from before a rotation: key \(file) is its newest, and the store was sealed with key "
                + "\(store). Put the newest copy of the key file in its place. Without one, what was sealed since is lost: "
                + "restore a backup from before that rotation"
        case .otherKey(let version, let check):
            "the key file's key \(version) is not the one that the store was sealed with. Put the copy in its place in which "
                + "the line `key \(version)` ends with \(check)"
        case .store: "the store does not say, or does not take, which keys seal in it; perhaps the disk is full"
        }
    }
}
