internal import SQLiteClient
import Vocabulary

/// The sealed shares that will replace a wallet's current ones.
///
/// Each is nil if it does not exist or has been confirmed.
package struct NextShares: Hashable, Sendable {
    package var unlock: Sealed?
    package var presence: Sealed?

    package init(unlock: Sealed? = nil, presence: Sealed? = nil) {
        self.unlock = unlock
        self.presence = presence
    }

    var isEmpty: Bool { self.unlock == nil && self.presence == nil }
}

/// Replaces shares: a refresh offers next shares to all wallets, and each wallet confirms its own.
///
///     no next shares ──offer──▶ current and next ──confirm──▶ the next ones are current
///
/// Invariant: both shares exist until the confirmation. If a crash or a lost reply left a wallet's data sealed under
/// either share, the wallet can still unlock it. The confirmation overwrites the old share in the same step that makes
/// the next one current, and a revocation destroys both.
extension StoreConnection {
    /// Returns the wallet's next shares.
    ///
    /// Any step may read them at any time.
    func nextShares(of wallet: WalletKey) throws -> NextShares {
        guard self.hasNextShares else { return NextShares() }
        let statement = try self.db.statement("SELECT unlock_share, presence_share FROM next_shares WHERE wallet = ?")
        statement.bind(wallet.number, at: 1)
        return try statement.first { row in
            NextShares(unlock: row.isNull(0) ? nil : try row.kept(0), presence: row.isNull(1) ? nil : try row.kept(1))
        } ?? NextShares()
    }

    /// Writes a wallet's next shares, or removes the row if there are none.
    func keep(_ next: NextShares, of wallet: WalletKey) throws {
        guard !next.isEmpty else { return try self.removeNextShares(of: wallet) }
        try self.db.run(
            """
            INSERT INTO next_shares (wallet, unlock_share, presence_share) VALUES (?, ?, ?) ON CONFLICT (wallet)
            DO UPDATE SET unlock_share = excluded.unlock_share, presence_share = excluded.presence_share
            """,
            [.number(wallet.number)] + [next.unlock, next.presence].map { $0.map { .bytes($0) } ?? .null }
        )
        self.hasNextShares = true
    }

    func removeNextShares(of wallet: WalletKey) throws {
        guard self.hasNextShares else { return }
        try self.db.run("DELETE FROM next_shares WHERE wallet = ?", [.number(wallet.number)])
        try self.findNextShares()
    }

    /// Determines whether any wallet has next shares.
    ///
    /// If not, the other steps do not look for them.
    func findNextShares() throws {
        self.hasNextShares = try self.db.number("SELECT 1 FROM next_shares LIMIT 1") != nil
    }
}
