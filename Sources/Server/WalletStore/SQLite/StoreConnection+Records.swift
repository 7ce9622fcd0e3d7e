internal import GRDB
internal import PreparedSQL
import Vocabulary

/// Writes and checks attempt records.
extension StoreConnection {
    func addAttempts(_ attempts: KeptAttempts, of wallet: WalletID, at place: WalletKey) throws {
        let statement = self.statements.addAttempts
        statement.bind(place.number, at: 1)
        statement.bind(attempts.encoded(of: wallet, by: self.key), at: 2)
        try statement.run()
    }

    /// Claims a store without wallets for this key.
    func claimIfEmpty() throws {
        try self.db.execute(
            sql: """
                INSERT OR IGNORE INTO record_key (id, key_check)
                SELECT 1, ? WHERE NOT EXISTS (SELECT 1 FROM wallets)
                """,
            arguments: [self.key.check.blob]
        )
    }

    func recordKeyFits() throws -> Bool {
        guard let check = try Row.fetchOne(self.db, sql: "SELECT key_check FROM record_key") else {
            throw StoreError.corrupt
        }
        return try check.bytes(0) == self.key.check
    }

    /// Checks the records of the next `limit` wallets after `cursor`.
    ///
    /// Throws ``StoreError/corrupt`` if the rows are out of order, or if one of them cannot be found through the index.
    /// Either can happen if the disk swaps two sound pages. A wallet then seems to be unknown, or a walk over all
    /// wallets never ends.
    func checkRecords(after cursor: UInt64?, limit: Int) throws -> RecordCheck {
        let first = cursor.map { Int64(bitPattern: $0) } ?? .min
        let rows = try Row.fetchAll(
            self.db,
            sql: """
                SELECT wallets.key, id, state, record,
                    (SELECT found.key FROM wallets AS found INDEXED BY wallets_by_id WHERE found.id = wallets.id)
                FROM wallets LEFT JOIN attempts ON attempts.wallet = wallets.key
                WHERE wallets.key > ? ORDER BY wallets.key LIMIT ?
                """,
            arguments: [first, limit]
        )
        var last = first
        let damaged = try rows.compactMap { row -> WalletID? in
            let key: Int64 = try row.number(0)
            guard key > last, row.numberIfAny(4) == key else { throw StoreError.corrupt }
            last = key
            let wallet: WalletID = try row.identifier(1)
            let (state, record) = (try row.bytesIfAny(2), try row.bytesIfAny(3))
            return RecordCheck.finding(wallet, state: state, record: record, by: self.key) == .damaged ? wallet : nil
        }
        let next = rows.count < limit ? nil : try rows.last.map { UInt64(bitPattern: try $0.number(0)) }
        return RecordCheck(damaged: damaged, next: next)
    }

    /// Returns the attempts stored in a column, or nil if there are none or if this server did not write them for this
    /// wallet.
    func attempts(in row: Row, at column: Int, of wallet: WalletID) throws -> KeptAttempts? {
        try row.bytesIfAny(column).flatMap { KeptAttempts(decoding: $0, of: wallet, by: self.key) }
    }
}
