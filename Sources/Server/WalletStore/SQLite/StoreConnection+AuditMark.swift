internal import GRDB
import PINPolicy
import Vocabulary

/// The mark that ties the store to its audit log.
///
/// Invariant: each commit with an audited change also stores the newest entry of the audit log. That entry is durable
/// and no older than the entry that announced the change. If the log was truncated, removed or replaced, it therefore
/// lacks the entry that the store names, which the next start detects.
extension StoreConnection {
    /// Stores the newest entry in the current transaction if it is not stored yet.
    func keepAuditMark() throws {
        guard let mark = self.announced.mark, mark != self.keptAuditMark else { return }
        try self.db.execute(
            sql: """
                INSERT INTO audit_mark (id, number, mac) VALUES (1, ?, ?)
                ON CONFLICT (id) DO UPDATE SET number = excluded.number, mac = excluded.mac
                """,
            arguments: [Int64(clamping: mark.number), mark.mac]
        )
        self.keptAuditMark = mark
    }

    func auditMark() throws -> StoredAuditMark? {
        guard let row = try Row.fetchOne(self.db, sql: "SELECT number, mac FROM audit_mark") else { return nil }
        guard let number = UInt64(exactly: try row.number(0)), let mac = String.fromDatabaseValue(row[1]) else {
            throw StoreError.corrupt
        }
        return StoredAuditMark(number: number, mac: mac)
    }

    /// Returns the given wallets that exist and have not ended.
    ///
    /// A wallet with a damaged row cannot be served and is treated as ended.
    func inUse(_ wallets: [WalletID]) throws -> [WalletID] {
        let statement = try self.db.makeStatement(sql: "SELECT state FROM wallets WHERE id = ?")
        return try wallets.filter { wallet in
            let state = try statement.first([wallet.blob]) { try? $0.walletState(0) }.flatMap(\.self)
            return state.map { $0.revocation == nil } ?? false
        }
    }

    /// Returns whether a wallet is in use and not permanently blocked.
    func isUnblocked(_ wallet: WalletID) throws -> Bool {
        guard try !self.inUse([wallet]).isEmpty, let found = try? self.attempted(wallet) else { return false }
        return !found.attempts.record.isBlockedPermanently
    }
}
