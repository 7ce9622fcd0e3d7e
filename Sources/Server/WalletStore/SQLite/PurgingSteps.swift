internal import GRDB
import Vocabulary

/// Removes wallets that ended long ago.
extension StoreConnection {
    /// Records a wallet's end.
    ///
    /// If called again, the first end counts.
    func keepEnd(of held: HeldRow, at time: Timestamp) throws {
        try self.db.makeStatement(sql: "INSERT INTO ended (wallet, at) VALUES (?, ?) ON CONFLICT (wallet) DO NOTHING")
            .run([held.wallet.row.key.number, time.milliseconds])
    }

    func keepPurgedCode(of held: HeldRow) throws {
        try self.db.execute(
            sql: """
                INSERT OR IGNORE INTO purged_codes (digest, revoked_at)
                SELECT deletion_digest, ? FROM wallets WHERE key = ? AND deletion_digest IS NOT NULL
                """,
            arguments: [held.wallet.row.state.revokedAt.milliseconds, held.wallet.row.key.number]
        )
    }
}

/// Removes rows that are no longer needed, a few at a time.
extension StoreConnection {
    /// Removes registrations made before `time` that have had no session, among the next `limit` marks after `start`.
    ///
    /// Stops after ``removedAtOnce`` wallets.
    ///
    /// A wallet's first session does not remove its mark, because each removal would write a separate page. Here, the
    /// marks of one step are adjacent, and the wallet's row shows whether it has had a session. A wallet that ended
    /// before its first session is kept, so that its code is still recognized and its token counts as used.
    func sweepUnopened(since time: Timestamp, after start: Int64, limit: Int) throws -> SweptMarks {
        let rows = try Row.fetchCursor(
            self.db.makeStatement(
                sql: "SELECT place, registered_at FROM unopened WHERE place > ? ORDER BY place LIMIT ?"
            ),
            arguments: [start, limit]
        )
        let state = try self.db.makeStatement(sql: "SELECT state FROM wallets WHERE key = ?")
        let clear = try self.db.makeStatement(sql: "DELETE FROM unopened WHERE place = ?")
        var swept = SweptMarks()
        var count = 0
        var (opened, unopened): ([Int64], [WalletKey]) = ([], [])
        while unopened.count < Self.removedAtOnce {
            guard let row = try rows.next() else {
                if count < limit { swept.next = nil }
                break
            }
            let key = try row.number(0)
            swept.next = key
            count += 1
            guard try row.number(1) < time.milliseconds else { continue }
            swept.due += 1
            // Keep a damaged row, so that any access to its wallet reports the damage.
            let found = try state.first([key]) { try? $0.walletState(0) } ?? nil
            if let found, !found.sessionOpened, found.revocation == nil {
                unopened.append(WalletKey(number: key))
            } else {
                opened.append(key)
            }
        }
        for key in opened { try clear.run([key]) }
        try self.remove(unopened)
        swept.removed = unopened.count
        return swept
    }

    /// The result of sweeping the marks of registrations without a session.
    struct SweptMarks {
        /// The number of marks that were old enough.
        ///
        /// All of them are removed.
        var due = 0
        /// The number of wallets removed along with them.
        var removed = 0
        /// The mark to continue after, or nil at the end.
        var next: Int64?
    }
}
