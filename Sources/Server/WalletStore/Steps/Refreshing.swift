package import Vocabulary

/// A wallet whose shares are replaced by a refresh.
package struct RefreshableWallet: Hashable, Sendable {
    /// The wallet's position in order of registration.
    package var cursor: UInt64
    package var walletID: WalletID
    /// Whether the wallet has ended, in which case its shares are destroyed.
    package var hasEnded: Bool
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

/// A refresh of shares in progress.
package struct ShareRefresh: Hashable, Sendable {
    package var begunAt: Timestamp
    /// The cursor after which the refresh will continue.
    package var cursor: Int64
    /// The cursor of the last wallet that the refresh covers.
    package var last: Int64

    fileprivate var values: [ColumnValue] {
        [.number(self.begunAt.milliseconds), .number(self.cursor), .number(self.last)]
    }
}

private let inProgress = SideStatement.read(.shareRefresh)
private let beginning = SideStatement.insert(into: .shareRefresh)
private let replacement = SideStatement.delete(from: .shareRefresh)
private let progress = SideStatement.update(
    .shareRefresh,
    "place",
    where: ("begun_at", .equals),
    ("place", .equals),
    ("last", .equals)
)
private let end = SideStatement.delete(
    from: .shareRefresh,
    where: ("begun_at", .equals),
    ("place", .equals),
    ("last", .equals)
)

extension Rows {
    /// Returns the refresh in progress, or nil if there is none.
    package func shareRefresh() throws -> ShareRefresh? {
        try self.query(inProgress, []).first.map { row in
            ShareRefresh(begunAt: try row.time(0), cursor: try row.number(1), last: try row.number(2))
        }
    }

    /// Returns up to `limit` wallets that the refresh has not reached, up to a cursor.
    fileprivate func remaining(of refresh: ShareRefresh, upTo last: Int64, limit: Int) throws -> [FoundWallet] {
        let after = UInt64(bitPattern: refresh.cursor)
        return try self.find(.next(after: after, last: UInt64(bitPattern: last), limit: limit)).wallets
    }

    fileprivate func keep(_ refresh: ShareRefresh) throws {
        try self.query(beginning, refresh.values)
    }
}

package struct BeginShareRefresh: StoreStep {
    let now: Timestamp
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws {
        guard let (first, last) = try rows.firstAndLastPlace() else { return }
        try rows.query(replacement, [])
        try rows.keep(ShareRefresh(begunAt: self.now, cursor: first - 1, last: last))
    }
}

package struct WalletsToRefresh: StoreStep {
    let limit: Int
    package static let access = StepAccess.reading

    /// A damaged wallet counts as ended, so that the others do not wait for it.
    package func run(in rows: some Rows) throws -> [RefreshableWallet]? {
        guard let refresh = try rows.shareRefresh() else { return nil }
        return try rows.remaining(of: refresh, upTo: refresh.last, limit: self.limit).map { wallet in
            RefreshableWallet(cursor: wallet.cursor, walletID: try wallet.identified(), hasEnded: !wallet.isInUse)
        }
    }
}

/// Checks each wallet again, because it may have ended, or another wallet may have taken its id or its cursor, since it
/// was read.
///
/// The progress passes no wallet that is not among these: another server may have begun a refresh in the meantime, and
/// a registration may have been committed after others with higher cursors.
package struct OfferShares: StoreStep {
    let shares: [OfferedShares]
    package static let access = StepAccess.writing

    package func run<Store: Rows>(in rows: Store) throws {
        var reached: [Store.Held] = []
        for offered in self.shares.inLockOrder(\.walletID) {
            guard let next = offered.next, var held = try rows.holdIntact(offered.walletID),
                held.wallet.row.key.number == Int64(bitPattern: offered.cursor),
                held.wallet.row.state.revocation == nil
            else { continue }
            held.wallet.next = next
            reached.append(held)
        }
        // In the order of rows, so that no insertion splits a page, which would leave copies of other wallets' shares.
        for held in reached.sorted(by: { $0.wallet.row.key.number < $1.wallet.row.key.number }) {
            try rows.keep(held, .nextShares)
        }
        guard let refresh = try rows.shareRefresh() else { return }
        guard let last = self.shares.last.map({ Int64(bitPattern: $0.cursor) }) else {
            guard try rows.remaining(of: refresh, upTo: refresh.last, limit: 1).isEmpty else { return }
            try rows.query(end, refresh.values)
            return
        }
        let offered = Set(self.shares.map(\.cursor))
        let passed = try rows.remaining(of: refresh, upTo: last, limit: self.shares.count + 1)
        guard refresh.cursor < last, passed.allSatisfy({ offered.contains($0.cursor) }) else { return }
        try rows.query(progress, [.number(last)] + refresh.values)
    }
}

package struct UnconfirmedShares: StoreStep {
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> Int { try rows.unconfirmedShares() }
}

extension WalletStore {
    /// Returns the number of wallets that have not yet confirmed all their next shares.
    package func unconfirmedShares() async throws(StoreError) -> Int { try await self.perform(UnconfirmedShares()) }

    /// Starts replacing the shares of all existing wallets.
    ///
    /// A refresh in progress starts over.
    package func beginShareRefresh(at now: Timestamp) async throws(StoreError) {
        try await self.perform(BeginShareRefresh(now: now))
    }

    /// Returns up to `limit` wallets that the current refresh has not reached, or nil if no refresh is in progress.
    package func walletsToRefresh(limit: Int) async throws(StoreError) -> [RefreshableWallet]? {
        try await self.perform(WalletsToRefresh(limit: limit))
    }

    /// Stores next shares, skipping wallets that have ended, and records the progress up to the last of these wallets.
    ///
    /// An empty list ends the refresh.
    package func offer(_ shares: [OfferedShares]) async throws(StoreError) {
        try await self.perform(OfferShares(shares: shares))
    }
}
