package import Vocabulary

/// A vault key version as recorded in the store.
package struct StoredVaultVersion: Hashable, Sendable {
    package var version: UInt32
    /// The time at which the version first sealed a value.
    package var activeSince: Timestamp
    /// The time at which a pass over every wallet found no value sealed with an older version, or nil until then.
    package var sealedAnewAt: Timestamp?
    /// The check value that identifies the version's key.
    package var check: [UInt8]

    package init(version: UInt32, activeSince: Timestamp, sealedAnewAt: Timestamp?, check: [UInt8]) {
        self.version = version
        self.activeSince = activeSince
        self.sealedAnewAt = sealedAnewAt
        self.check = check
    }
}

private let allVersions = SideStatement.read(.vaultVersions)
private let addition = SideStatement.insert(into: .vaultVersions, ifKnown: .stays)
private let resealing = SideStatement.update(.vaultVersions, "sealed_anew_at", where: ("version", .equals))

extension Rows {
    /// Returns all versions that have sealed values, in ascending order.
    package func vaultVersions() throws -> [StoredVaultVersion] {
        try self.query(allVersions, []).map { row in
            guard let version = UInt32(exactly: try row.number(0)) else { throw StoreError.corrupt }
            return StoredVaultVersion(
                version: version,
                activeSince: try row.time(1),
                sealedAnewAt: row.timeIfAny(2),
                check: try row.bytes(3)
            )
        }
    }

    /// Does nothing if the version is known.
    fileprivate func add(_ version: StoredVaultVersion) throws {
        try self.query(
            addition,
            [
                .number(Int64(version.version)), .number(version.activeSince.milliseconds),
                ColumnValue(version.sealedAnewAt), .bytes(version.check),
            ]
        )
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
        try rows.add(
            StoredVaultVersion(version: self.version, activeSince: self.now, sealedAnewAt: nil, check: self.check)
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
        try rows.query(resealing, [ColumnValue(self.now), .number(Int64(self.version))])
    }
}

extension WalletStore {
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
