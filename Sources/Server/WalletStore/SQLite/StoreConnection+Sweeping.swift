internal import GRDB
import PINPolicy
import Vocabulary

/// Clearing away what nobody needs, some rows at a time.
extension StoreConnection {
    /// Removes registrations made before `limit` that no session was opened for, among `most` marks of them after `start`.
    ///
    /// A wallet's first session leaves its mark where it is: taking it away would cost each a page of its own. Here those of
    /// a step lie together, and the wallet's row says whether it is still unopened. One that ended before its first
    /// session stays: its code goes on saying done, and its token is used.
    func sweepUnopened(since limit: Timestamp, after start: Int64, most: Int) throws -> SweptMarks {
        let rows = try Row.fetchAll(
            self.db.makeStatement(
                sql: "SELECT wallet, registered_at FROM unopened WHERE wallet > ? ORDER BY wallet LIMIT ?"
            ),
            arguments: [start, most]
        )
        let state = try self.db.makeStatement(sql: "SELECT state FROM wallets WHERE key = ?")
        let clear = try self.db.makeStatement(sql: "DELETE FROM unopened WHERE wallet = ?")
        var swept = SweptMarks(next: rows.count < most ? nil : try rows.last?.number(0))
        var unopened: [WalletKey] = []
        for row in rows where try row.number(1) < limit.milliseconds {
            let key = try row.number(0)
            swept.due += 1
            // A damaged row stays, for whoever looks at its wallet to be told so.
            let found = try state.first([key]) { try? $0.walletState(0) } ?? nil
            if let found, !found.sessionOpened, found.revocation == nil {
                unopened.append(WalletKey(number: key))
            } else {
                try clear.run([key])
            }
        }
        try self.remove(unopened)
        swept.removed = unopened.count
        return swept
    }

    /// What came of some marks of wallets that no session was opened for when they were registered.
    struct SweptMarks {
        /// That were old enough, and are gone.
        var due = 0
        /// Of these, the wallets that went with them.
        var removed = 0
        /// Behind which mark to go on; nil at the end.
        var next: Int64?
    }

    /// Removes attempt records that hold nothing, among `most` of them after `start`.
    ///
    /// - Returns: where to go on; nil at the end.
    func sweepAttempts(after start: Int64, most: Int) throws -> Int64? {
        let empty = AttemptRecord().encoded()
        let rows = try Row.fetchCursor(
            self.db.makeStatement(
                sql: "SELECT wallet, record FROM attempts WHERE wallet > ? ORDER BY wallet LIMIT ?"
            ),
            arguments: [start, most]
        )
        var last = start
        var count = 0
        var holdNothing: [Int64] = []
        while let row = try rows.next() {
            last = try row.number(0)
            count += 1
            if try row.bytes(1).starts(with: empty) { holdNothing.append(last) }
        }
        for wallet in holdNothing { try self.dropAttemptsIfEmpty(of: WalletKey(number: wallet)) }
        return count < most ? nil : last
    }
}
