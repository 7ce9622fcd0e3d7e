internal import SQLiteClient
import Vocabulary

/// The key of attempt records, and the order of rows.
extension StoreConnection {
    /// Claims a store without wallets for this key.
    func claimIfEmpty() throws {
        try self.db.run(
            "INSERT OR IGNORE INTO record_key (id, key_check) SELECT 1, ? WHERE NOT EXISTS (SELECT 1 FROM wallets)",
            [.bytes(self.key.check)]
        )
    }

    func recordKeyCheck() throws -> [UInt8]? {
        try self.db.run("SELECT key_check FROM record_key").first?.bytes(0)
    }

    /// A disk that swaps two sound pages hides wallets: one seems to be unknown, or a walk over all wallets never ends.
    func requireEveryPlace(after cursor: UInt64?, limit: Int) throws {
        let first = cursor.map { Int64(bitPattern: $0) } ?? .min
        let rows = try self.db.run(
            """
            SELECT key, id, (SELECT found.key FROM wallets AS found INDEXED BY wallets_by_id WHERE found.id = w.id)
            FROM wallets w WHERE key > ? ORDER BY key LIMIT ?
            """,
            [.number(first), .number(Int64(limit))]
        )
        var last = first
        for row in rows {
            let key = try row.number(0)
            let _: WalletID = try row.identifier(1)
            guard key > last, row.numberIfAny(2) == key else { throw StoreError.corrupt }
            last = key
        }
    }
}
