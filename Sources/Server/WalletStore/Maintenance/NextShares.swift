internal import GRDB
internal import PreparedSQL
package import Vocabulary

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

/// A wallet whose shares are replaced by a refresh.
package struct RefreshableWallet: Hashable, Sendable {
    /// The wallet's position in order of registration.
    package var cursor: UInt64
    package var walletID: WalletID
    /// Whether the wallet has ended, in which case its shares are destroyed.
    package var hasEnded: Bool

    package init(cursor: UInt64, walletID: WalletID, hasEnded: Bool) {
        self.cursor = cursor
        self.walletID = walletID
        self.hasEnded = hasEnded
    }
}

/// The next shares of a wallet that a refresh has reached.
package struct OfferedShares: Hashable, Sendable {
    /// The wallet's position in order of registration.
    package var cursor: UInt64
    package var walletID: WalletID
    /// The next shares, or nil if the wallet has ended.
    package var next: NextShares?

    package init(cursor: UInt64, walletID: WalletID, next: NextShares?) {
        self.cursor = cursor
        self.walletID = walletID
        self.next = next
    }
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
        let statement = self.statements.nextShares
        statement.bind(wallet.number, at: 1)
        return try statement.first { row in
            NextShares(unlock: row.isNull(0) ? nil : try row.kept(0), presence: row.isNull(1) ? nil : try row.kept(1))
        } ?? NextShares()
    }

    /// Writes a wallet's next shares, or removes the row if there are none.
    func keep(_ next: NextShares, of wallet: WalletKey) throws {
        guard !next.isEmpty else { return try self.removeNextShares(of: wallet) }
        try self.db.makeStatement(
            sql: """
                INSERT INTO next_shares (wallet, unlock_share, presence_share) VALUES (?, ?, ?) ON CONFLICT (wallet)
                DO UPDATE SET unlock_share = excluded.unlock_share, presence_share = excluded.presence_share
                """
        ).run([wallet.number, next.unlock?.blob, next.presence?.blob])
        self.hasNextShares = true
    }

    func removeNextShares(of wallet: WalletKey) throws {
        guard self.hasNextShares else { return }
        try self.db.makeStatement(sql: "DELETE FROM next_shares WHERE wallet = ?").run([wallet.number])
        try self.findNextShares()
    }

    /// Determines whether any wallet has next shares.
    ///
    /// If not, the other steps do not look for them.
    func findNextShares() throws {
        self.hasNextShares = try Row.fetchOne(self.db, sql: "SELECT 1 FROM next_shares LIMIT 1") != nil
    }
}

/// The refresh that offers next shares to wallets.
extension StoreConnection {
    func beginShareRefresh(at now: Timestamp) throws {
        try self.db.execute(
            sql: """
                INSERT OR REPLACE INTO share_refresh (id, begun_at, place, last)
                SELECT 1, ?, min(key) - 1, max(key) FROM wallets HAVING count(*) > 0
                """,
            arguments: [now.milliseconds]
        )
    }

    /// Returns wallets that the refresh has not reached yet.
    ///
    /// A wallet with a damaged row is treated as ended, so that the others do not have to wait for it.
    func walletsToRefresh(limit: Int) throws -> [RefreshableWallet]? {
        guard let refresh = try Row.fetchOne(self.db, sql: "SELECT place, last FROM share_refresh") else { return nil }
        return try Row.fetchAll(
            self.db,
            sql: "SELECT key, state, id FROM wallets WHERE key > ? AND key <= ? ORDER BY key LIMIT ?",
            arguments: [try refresh.number(0), try refresh.number(1), limit]
        ).map { row in
            RefreshableWallet(
                cursor: UInt64(bitPattern: try row.number(0)),
                walletID: try row.identifier(2),
                hasEnded: (try? row.walletState(1)).map { $0.revocation != nil } ?? true
            )
        }
    }

    /// Stores next shares after reading each wallet again.
    ///
    /// It may have ended since it was read, or another wallet may now have its row number.
    func offer(_ shares: [OfferedShares]) throws {
        guard let last = shares.last else { return try self.db.execute(sql: "DELETE FROM share_refresh") }
        let look = try self.db.makeStatement(sql: "SELECT state FROM wallets WHERE key = ? AND id = ?")
        for offered in shares {
            let key = WalletKey(number: Int64(bitPattern: offered.cursor))
            guard let next = offered.next,
                let state = try look.first([key.number, offered.walletID.blob], { try? $0.walletState(0) }) ?? nil,
                state.revocation == nil
            else { continue }
            try self.keep(next, of: key)
        }
        try self.db.execute(
            sql: "UPDATE share_refresh SET place = ?",
            arguments: [Int64(bitPattern: last.cursor)]
        )
    }

    func unconfirmedShares() throws -> Int {
        try Int.fetchOne(self.db, sql: "SELECT count(*) FROM next_shares") ?? 0
    }
}
