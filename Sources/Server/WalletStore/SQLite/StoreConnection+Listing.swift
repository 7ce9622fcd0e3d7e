internal import GRDB
import PINPolicy
import Vocabulary

/// Operator searches over all wallets.
///
/// They read a few rows at a time so that PIN checks do not wait long.
extension StoreConnection {
    /// Returns rows in order of registration, starting after the one at the cursor `after`.
    ///
    /// A wallet whose state does not decode is listed as a damaged one, so that one wallet hides no other.
    func listing(after: UInt64?, limit: Int) throws -> [StoredListing] {
        let rows = try Row.fetchAll(
            self.db,
            sql: """
                SELECT wallets.key, id, state, registered_at, record, at,
                    CASE WHEN json_valid(attested) THEN json_extract(attested, '$.platform') END
                FROM wallets
                LEFT JOIN attestations ON attestations.wallet = wallets.key
                LEFT JOIN attempts ON attempts.wallet = wallets.key
                LEFT JOIN last_sessions ON last_sessions.wallet = wallets.key
                WHERE wallets.key > ? ORDER BY wallets.key LIMIT ?
                """,
            arguments: [after.map { Int64(bitPattern: $0) } ?? .min, limit]
        )
        return try rows.map { row in
            let state = try? row.walletState(2)
            let wallet: WalletID = try row.identifier(1)
            let charges = state.flatMap { try? self.charges(after: $0) }
            let attempts = charges == nil ? nil : try self.attempts(in: row, at: 4, of: wallet)
            return StoredListing(
                cursor: UInt64(bitPattern: try row.number(0)),
                walletID: wallet,
                platform: String.fromDatabaseValue(row[6]).flatMap { Platform(rawValue: $0) },
                registeredAt: Timestamp(milliseconds: try row.number(3)),
                sessionOpened: state?.sessionOpened ?? false,
                lastSession: Int64.fromDatabaseValue(row[5]).map { Timestamp(milliseconds: $0) },
                revocation: state?.revocation,
                attempts: attempts?.record,
                epochCharges: charges ?? []
            )
        }
    }

    func wallet(ofDeletionCode digest: SHA256Digest) throws -> WalletID? {
        try self.db.makeStatement(sql: "SELECT id FROM wallets WHERE deletion_digest = ?")
            .first([digest.blob]) { try $0.identifier(0) }
    }
}
