internal import Foundation
internal import GRDB
internal import Synchronization
import Vocabulary

/// A cache of the rows of recently judged wallets, as of the current transaction.
///
/// A PIN check right after another one for the same wallet runs one statement instead of two.
///
/// Invariant: a cached row equals the stored one. Only one process has the file open and only one connection writes to
/// it (``Schema/settings``), so a row stays valid until that connection changes it. The connection's own changes cannot
/// leave a stale row behind:
///
/// - SQLite removes a wallet from the cache when any statement changes or deletes its row in `wallets`
///   (``attach(to:)``), so no share of an ended wallet is released from the cache.
/// - A row of `attempts` is written only if it contains the cached value; otherwise the step fails
///   (`StoreConnection.keep(_:of:)`). Such a row is deleted only together with the row in `wallets`.
/// - A rollback empties the cache.
final class KnownWallets: Sendable {
    /// The capacity, about four megabytes.
    ///
    /// A full cache is emptied.
    private static let most = 4096

    private let wallets = Mutex<[WalletID: StoreConnection.Attempted]>([:])
    /// The sessions that are being opened.
    ///
    /// Read by other threads. Changed only together with the cache.
    let openings: Openings

    init(_ openings: Openings) {
        self.openings = openings
    }

    subscript(wallet: WalletID) -> StoreConnection.Attempted? {
        self.wallets.withLock { $0[wallet] }
    }

    /// Caches a row whose attempts were just written.
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

    /// Makes a connection report the wallet rows that it changes, and changes to the solution, using triggers that are
    /// private to the connection.
    ///
    /// A connection reports to the cache that was attached last.
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
