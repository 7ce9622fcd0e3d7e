internal import GRDB
import Vocabulary

/// What is known of the vault's key versions; no key is.
extension StoreConnection {
    /// Notes that a version seals, and by what its key is recognized, if that is new; all that are known, ascending.
    func note(vaultVersion version: UInt32, check: [UInt8], at now: Timestamp) throws -> [StoredVaultVersion] {
        try self.db.execute(
            sql: """
                INSERT INTO vault_versions (version, active_since, key_check) VALUES (?, ?, ?)
                ON CONFLICT (version) DO UPDATE SET key_check = excluded.key_check WHERE key_check IS NULL
                """,
            arguments: [version, now.milliseconds, check.blob]
        )
        return try self.vaultVersions()
    }

    /// All that have sealed, ascending.
    func vaultVersions() throws -> [StoredVaultVersion] {
        try Row.fetchAll(
            self.db,
            sql: "SELECT version, active_since, sealed_anew_at, key_check FROM vault_versions ORDER BY version"
        ).map { row in
            StoredVaultVersion(
                version: UInt32(clamping: try row.number(0)),
                activeSince: Timestamp(milliseconds: try row.number(1)),
                sealedAnewAt: Int64.fromDatabaseValue(row[2]).map { Timestamp(milliseconds: $0) },
                check: try row.bytesIfAny(3)
            )
        }
    }

    /// Notes that nothing is sealed by an older version any more; nil takes that back.
    func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) throws {
        // Old values are gone from the log then, too; taking the note back destroys nothing.
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
