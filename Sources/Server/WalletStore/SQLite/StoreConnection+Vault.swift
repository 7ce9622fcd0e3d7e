internal import GRDB
import Vocabulary

/// What is known of the vault's key versions; no key is.
extension StoreConnection {
    /// Notes that a version seals, if that is new; all that are known, ascending.
    func note(vaultVersion version: UInt32, at now: Timestamp) throws -> [StoredVaultVersion] {
        try self.db.execute(
            sql: "INSERT OR IGNORE INTO vault_versions (version, active_since) VALUES (?, ?)",
            arguments: [version, now.milliseconds]
        )
        return try Row.fetchAll(
            self.db,
            sql: "SELECT version, active_since, sealed_anew_at FROM vault_versions ORDER BY version"
        ).map { row in
            StoredVaultVersion(
                version: UInt32(clamping: try row.number(0)),
                activeSince: Timestamp(milliseconds: try row.number(1)),
                sealedAnewAt: Int64.fromDatabaseValue(row[2]).map { Timestamp(milliseconds: $0) }
            )
        }
    }

    /// Notes that nothing is sealed by an older version any more; nil takes that back.
    func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) throws {
        // Old values are gone from the log then, too.
        self.mustTruncateLog = true
        try self.db.execute(
            sql: "UPDATE vault_versions SET sealed_anew_at = ? WHERE version = ?",
            arguments: [now?.milliseconds, version]
        )
    }

    func walletCount() throws -> Int {
        try Int.fetchOne(self.db, sql: "SELECT count(*) FROM wallets") ?? 0
    }
}
