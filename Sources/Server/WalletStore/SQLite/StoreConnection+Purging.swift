internal import GRDB
import Vocabulary

/// Removing wallets that ended long ago.
extension StoreConnection {
    /// Those among `most` wallets behind a place that ended before `limit`, and where to go on; nil at the end.
    func purgeable(after: UInt64?, lookingAt most: Int, endedBefore limit: Timestamp) throws -> Purgeable {
        let rows = try Row.fetchAll(
            self.db,
            sql: "SELECT key, id, state FROM wallets WHERE key > ? ORDER BY key LIMIT ?",
            arguments: [after.map { Int64(bitPattern: $0) } ?? .min, most]
        )
        let wallets = try rows.compactMap { row -> WalletID? in
            let state = try row.walletState(2)
            return state.revocation != nil && state.revokedAt < limit ? try row.identifier(1) : nil
        }
        let next = rows.count < most ? nil : try rows.last.map { UInt64(bitPattern: try $0.number(0)) }
        return Purgeable(wallets: wallets, next: next)
    }

    /// Looks at each again: what is in use, or ended later, stays.
    func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) throws -> Int {
        var purged = 0
        for id in wallets {
            guard let row = try self.wallet(id), row.state.revocation != nil, row.state.revokedAt < limit else {
                continue
            }
            try self.db.execute(
                sql: """
                    INSERT OR IGNORE INTO purged_codes (digest, revoked_at)
                    SELECT deletion_digest, ? FROM wallets WHERE key = ? AND deletion_digest IS NOT NULL
                    """,
                arguments: [row.state.revokedAt.milliseconds, row.key.number]
            )
            try self.remove(row.key)
            purged += 1
        }
        return purged
    }

    /// When the wallet that had this deletion code ended, if it is gone since.
    func purged(deletionCode digest: SHA256Digest) throws -> Timestamp? {
        try self.db.makeStatement(sql: "SELECT revoked_at FROM purged_codes WHERE digest = ?")
            .first([digest.blob]) { Timestamp(milliseconds: try $0.number(0)) }
    }
}
