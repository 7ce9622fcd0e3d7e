internal import GRDB
import PINPolicy
import Vocabulary

/// Permanent blocks, and whether they are recorded in the audit log.
extension StoreConnection {
    /// Examines the next `limit` attempt records after `cursor`.
    ///
    /// Returns the permanently blocked wallets in use that ``noteRecorded(blocksOf:)`` has not marked yet.
    func unrecordedBlocks(after cursor: UInt64?, lookingAt limit: Int) throws -> UnrecordedBlocks {
        let rows = try Row.fetchAll(
            self.db,
            sql: """
                SELECT attempts.wallet, record, id, state, recorded_blocks.wallet FROM attempts
                JOIN wallets ON wallets.key = attempts.wallet
                LEFT JOIN recorded_blocks ON recorded_blocks.wallet = attempts.wallet
                WHERE attempts.wallet > ? ORDER BY attempts.wallet LIMIT ?
                """,
            arguments: [cursor.map { Int64(bitPattern: $0) } ?? .min, limit]
        )
        let wallets = try rows.compactMap { row -> WalletID? in
            // A damaged row is not judged. Any access to its wallet reports the damage.
            guard row.hasNull(atIndex: 4), let wallet: WalletID = try? row.identifier(2),
                try self.attempts(in: row, at: 1, of: wallet)?.record.isBlockedPermanently == true,
                try row.walletState(3).revocation == nil
            else { return nil }
            return wallet
        }
        let next = rows.count < limit ? nil : try rows.last.map { UInt64(bitPattern: try $0.number(0)) }
        return UnrecordedBlocks(wallets: wallets, next: next)
    }

    /// Returns whether ``noteRecorded(blocksOf:)`` has marked the wallet's block.
    func isRecorded(blockOf wallet: WalletID) throws -> Bool {
        let sql = "SELECT 1 FROM recorded_blocks JOIN wallets ON key = wallet WHERE id = ?"
        return try Row.fetchOne(self.db, sql: sql, arguments: [wallet.blob]) != nil
    }

    /// Marks the permanent blocks of these wallets as recorded in the audit log.
    func noteRecorded(blocksOf wallets: [WalletID]) throws {
        let statement = try self.db.makeStatement(
            sql: "INSERT OR IGNORE INTO recorded_blocks (wallet) SELECT key FROM wallets WHERE id = ?"
        )
        for wallet in wallets { try statement.run([wallet.blob]) }
        try self.keepAuditMark()
    }

    /// Permanently blocks the wallets that an audit log records as blocked.
    ///
    /// Returns the number of newly blocked wallets. Ignores wallets that are unknown, have ended or have a damaged
    /// record. Their PINs are not judged.
    func blockPermanently(_ wallets: [WalletID]) throws -> Int {
        var blocked = 0
        for wallet in wallets {
            guard var found = try? self.attempted(wallet), found.row.state.revocation == nil,
                !found.attempts.record.isBlockedPermanently
            else { continue }
            found.attempts.record.blockPermanently()
            try self.keep(found, of: wallet)
            blocked += 1
        }
        try self.noteRecorded(blocksOf: wallets)
        return blocked
    }
}
