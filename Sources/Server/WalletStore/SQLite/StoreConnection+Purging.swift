internal import GRDB
import Vocabulary

/// Removing wallets that ended long ago.
extension StoreConnection {
    /// Those among `most` wallets behind a place that ended before `limit`, and where to go on; nil at the end.
    ///
    /// Only wallets that have ended are looked at, and the rows only of those that may be due.
    func purgeable(after: UInt64?, lookingAt most: Int, endedBefore limit: Timestamp) throws -> Purgeable {
        let ended = try Row.fetchAll(
            self.db,
            sql: "SELECT wallet, at FROM ended WHERE wallet > ? ORDER BY wallet LIMIT ?",
            arguments: [after.map { Int64(bitPattern: $0) } ?? .min, most]
        )
        let look = try self.db.makeStatement(sql: "SELECT id, state FROM wallets WHERE key = ?")
        let wallets = try ended.compactMap { row -> WalletID? in
            guard try row.number(1) < limit.milliseconds else { return nil }
            return try look.first([try row.number(0)]) { wallet in
                let state = try wallet.walletState(1)
                return state.revocation != nil && state.revokedAt < limit ? try wallet.identifier(0) : nil
            } ?? nil
        }
        let next = ended.count < most ? nil : try ended.last.map { UInt64(bitPattern: try $0.number(0)) }
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
