internal import Foundation
internal import GRDB
internal import Synchronization
import Vocabulary

/// A cache of the rows of recently judged wallets, as of the current transaction.
///
/// A PIN check that follows another one of the same wallet runs one statement instead of two.
///
/// Invariant: a cached row equals the stored one. One process has the file open and one connection writes it
/// (``Schema/settings``), so a row stays valid until that connection changes it. Its changes cannot leave a stale row:
///
/// - SQLite removes a wallet from the cache if any statement changes or deletes its row of `wallets` (``attach(to:)``):
///   no share is released from the cache for a wallet that has ended.
/// - A row of `attempts` is written only if it holds the cached value, otherwise the step fails
///   (`StoreConnection.keep(_:of:)`). Such a row is deleted only with the row of `wallets`.
/// - A rollback empties the cache.
final class KnownWallets: Sendable {
    /// The capacity, some four megabytes; a full cache is emptied.
    private static let most = 4096

    private let wallets = Mutex<[WalletID: StoreConnection.Attempted]>([:])
    /// Read by other threads; changed together with the cache.
    let openings: Openings

    init(_ openings: Openings) {
        self.openings = openings
    }

    subscript(wallet: WalletID) -> StoreConnection.Attempted? {
        self.wallets.withLock { $0[wallet] }
    }

    /// Caches a row whose attempts have just been written.
    func remember(_ found: StoreConnection.Attempted, of wallet: WalletID) {
        self.openings.forget(wallet)
        self.wallets.withLock { wallets in
            if wallets.count >= Self.most { wallets.removeAll(keepingCapacity: true) }
            wallets[wallet] = found
        }
    }

    func forgetAll() {
        self.openings.forgetAll()
        self.wallets.withLock { $0.removeAll(keepingCapacity: true) }
    }

    private func forget(_ wallet: WalletID) {
        self.openings.forget(wallet)
        self.wallets.withLock { $0[wallet] = nil }
    }

    /// Makes a connection report the wallet rows that it changes, and changes of the solution, by triggers private to
    /// it.
    ///
    /// A connection reports to the cache attached last.
    func attach(to db: Database) throws {
        db.add(
            function: DatabaseFunction("forget_wallet", argumentCount: 1) { arguments in
                let wallet = Data.fromDatabaseValue(arguments[0]).flatMap { WalletID([UInt8]($0)) }
                if let wallet { self.forget(wallet) } else { self.forgetAll() }
                return nil
            }
        )
        for event in ["UPDATE", "DELETE"] {
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER IF NOT EXISTS forget_at_\(event) AFTER \(event) ON main.wallets
                    BEGIN SELECT forget_wallet(old.id); END
                    """
            )
        }
        try db.execute(
            sql: """
                CREATE TEMP TRIGGER IF NOT EXISTS forget_at_solution AFTER UPDATE ON main.solution
                BEGIN SELECT forget_wallet(NULL); END
                """
        )
    }
}
