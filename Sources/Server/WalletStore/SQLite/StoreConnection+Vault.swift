internal import GRDB
import Vocabulary

/// Records of the vault's key versions.
///
/// They contain no keys.
extension StoreConnection {
    /// Records that a version seals values, along with the check value of its key.
    ///
    /// Does nothing if the version is known. Returns all versions in ascending order.
    func note(vaultVersion version: UInt32, check: [UInt8], at now: Timestamp) throws -> [StoredVaultVersion] {
        try self.db.execute(
            sql: """
                INSERT INTO vault_versions (version, active_since, key_check) VALUES (?, ?, ?)
                ON CONFLICT (version) DO NOTHING
                """,
            arguments: [version, now.milliseconds, check.blob]
        )
        try self.readReceiptVersion()
        return try self.vaultVersions()
    }

    /// Returns all versions that have sealed values, in ascending order.
    func vaultVersions() throws -> [StoredVaultVersion] {
        try Row.fetchAll(
            self.db,
            sql: "SELECT version, active_since, sealed_anew_at, key_check FROM vault_versions ORDER BY version"
        ).map { row in
            StoredVaultVersion(
                version: UInt32(clamping: try row.number(0)),
                activeSince: Timestamp(milliseconds: try row.number(1)),
                sealedAnewAt: Int64.fromDatabaseValue(row[2]).map { Timestamp(milliseconds: $0) },
                check: try row.bytes(3)
            )
        }
    }

    /// Records that no value is sealed with an older version anymore.
    ///
    /// If `now` is nil, removes that record.
    func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) throws {
        // The old values must then be removed from the log as well. Removing the record destroys nothing.
        if now != nil { self.noteDestroyed() }
        try self.db.execute(
            sql: "UPDATE vault_versions SET sealed_anew_at = ? WHERE version = ?",
            arguments: [now?.milliseconds, version]
        )
    }

    func walletCount() throws -> Int {
        try Int.fetchOne(self.db, sql: "SELECT count(*) FROM wallets") ?? 0
    }
}
