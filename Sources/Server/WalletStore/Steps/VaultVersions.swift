package import Vocabulary

// The store's records of the vault's key versions. They contain no keys.

extension Rows {
    /// Returns all versions that have sealed values, in ascending order.
    package func vaultVersions() throws -> [StoredVaultVersion] {
        try self.query(
            "select version, active_since, sealed_anew_at, key_check from vault_versions order by version",
            []
        ).map { row in
            guard let version = UInt32(exactly: try row.number(0)) else { throw StoreError.corrupt }
            return StoredVaultVersion(
                version: version,
                activeSince: try row.time(1),
                sealedAnewAt: row.timeIfAny(2),
                check: try row.bytes(3)
            )
        }
    }
}

package struct VaultVersions: StoreStep {
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> [StoredVaultVersion] { try rows.vaultVersions() }
}

package struct NoteVaultVersion: StoreStep {
    let version: UInt32
    let check: [UInt8]
    let now: Timestamp
    package static let access = StepAccess.writing

    package init(version: UInt32, check: [UInt8], now: Timestamp) {
        (self.version, self.check, self.now) = (version, check, now)
    }

    package func run(in rows: some Rows) throws -> [StoredVaultVersion] {
        let known = try rows.vaultVersions()
        if known.contains(where: { $0.version == self.version }) { return known }
        try rows.requireKeyAtServers(self.version, check: self.check)
        try rows.query(
            """
            insert into vault_versions (version, active_since, key_check) values ($1, $2, $3) on conflict do nothing
            """,
            [.number(Int64(self.version)), .number(self.now.milliseconds), .bytes(self.check)]
        )
        try rows.vaultVersionsHaveChanged()
        return try rows.vaultVersions()
    }
}

package struct NoteSealedAnew: StoreStep {
    let version: UInt32
    let now: Timestamp?
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws {
        // The old values must then be removed from the log as well. Removing the record destroys nothing.
        if self.now != nil { rows.noteDestroyed() }
        try rows.query(
            "update vault_versions set sealed_anew_at = $2 where version = $1",
            [.number(Int64(self.version)), self.now.map { .number($0.milliseconds) } ?? .null]
        )
    }
}

extension StepStore {
    /// Returns the vault key versions that have sealed values, in ascending order.
    package func vaultVersions() async throws(StoreError) -> [StoredVaultVersion] {
        try await self.perform(VaultVersions())
    }

    /// Records that a vault key version seals values, along with the check value of its key.
    ///
    /// Does nothing if the version is known. Returns all known versions in ascending order.
    package func note(
        vaultVersion version: UInt32,
        check: [UInt8],
        at now: Timestamp
    ) async throws(StoreError) -> [StoredVaultVersion] {
        try await self.perform(NoteVaultVersion(version: version, check: check, now: now))
    }

    /// Records that no value is sealed with an older version anymore.
    ///
    /// If `now` is nil, removes that record.
    package func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) async throws(StoreError) {
        try await self.perform(NoteSealedAnew(version: version, now: now))
    }
}
