internal import GRDB
import PINPolicy
package import Vocabulary

extension SQLiteWalletStore {
    /// The maximum number of rows written by one step, so that PIN checks do not wait long.
    private static let keptAtOnce = 500
    /// The maximum number of rows read by one step, which takes about a millisecond if they are in memory.
    static let searchedAtOnce = 2000

    package func revoke(
        recoveryCode mac: RecoveryCodeMAC,
        at now: Timestamp
    ) async throws(StoreError) -> RecoveryCodeRevocationOutcome {
        let search = LinkSearch()
        try await self.queue.perform { $0.linkedDuring[search] = [] }
        let result: Result<RecoveryCodeRevocationOutcome, StoreError>
        do throws(StoreError) {
            let found = try await self.wallets(linkedTo: mac)
            result = .success(
                try await self.queue.perform {
                    try $0.revoke(recoveryCode: mac, found: found, during: search, at: now)
                }
            )
        } catch {
            result = .failure(error)
        }
        // Also needed if the batch failed, because a rollback does not restore state in memory.
        try? await self.queue.perform { $0.linkedDuring[search] = nil }
        return try result.get()
    }

    package func wallets(linkedTo mac: RecoveryCodeMAC) async throws(StoreError) -> [WalletID] {
        var found: [WalletID] = []
        var last = Int64.min
        while true {
            let start = last
            let page = try await self.queue.perform {
                try $0.linked(to: mac, after: start, atMost: Self.searchedAtOnce)
            }
            guard let page else { return found }
            found += page.wallets
            last = page.last
        }
    }

    package func keepLastSessions(_ sessions: [WalletID: Timestamp]) async throws(StoreError) {
        var rows: [(wallet: WalletID, key: WalletKey)] = []
        for wallets in Array(sessions.keys).pieces(of: Self.keptAtOnce) {
            rows += try await self.queue.perform { try $0.keys(of: wallets) }
        }
        // Sort by row, so that rows on the same page are written together.
        rows.sort { $0.key.number < $1.key.number }
        for page in rows.pieces(of: Self.keptAtOnce) {
            let known = page.compactMap { row in sessions[row.wallet].map { (wallet: row.wallet, at: $0) } }
            try await self.queue.perform { try $0.keepLastSessions(known) }
        }
    }
}

/// Reads and changes made by operators.
///
/// They are rare, so their statements are compiled on each use and add no cost to PIN checks.
extension StoreConnection {
    /// Returns the row numbers of the given wallets, skipping unknown ones.
    func keys(of wallets: [WalletID]) throws -> [(wallet: WalletID, key: WalletKey)] {
        let statement = try self.db.makeStatement(sql: "SELECT key FROM wallets WHERE id = ?")
        return try wallets.compactMap { wallet in
            try statement.first([wallet.blob]) { (wallet, WalletKey(number: try $0.number(0))) }
        }
    }

    /// Stores the time of each wallet's last session.
    ///
    /// Looks wallets up by id, because a row number may have been reused since.
    func keepLastSessions(_ sessions: [(wallet: WalletID, at: Timestamp)]) throws {
        let statement = try self.db.makeStatement(
            sql: """
                INSERT INTO last_sessions (wallet, at) SELECT key, ? FROM wallets WHERE id = ?
                ON CONFLICT (wallet) DO UPDATE SET at = max(at, excluded.at)
                """
        )
        for (wallet, at) in sessions { try statement.run([at.milliseconds, wallet.blob]) }
    }
}
