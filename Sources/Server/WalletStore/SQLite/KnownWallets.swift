internal import Foundation
internal import GRDB
internal import Synchronization
import Vocabulary

/// What is on file of the wallets that were judged lately, as it stands in the transaction: a PIN check that follows
/// another one of the same wallet runs one statement instead of two.
///
/// Invariant: what is remembered is what is on file. One process has the file and one connection writes it
/// (``Schema/settings``), so what was read stays true until that connection changes it, and
///
/// - SQLite itself has a wallet forgotten whose row of `wallets` is changed or removed, whatever statement does it
///   (``attach(to:)``): no share is released from the memory of a wallet that has ended;
/// - a row of `attempts` is written only where it holds what was remembered of it, or else the step fails
///   (`StoreConnection.keep(_:of:)`); where such rows are removed everything is forgotten;
/// - where something is undone everything is forgotten.
final class KnownWallets: Sendable {
    /// Wallets that are remembered, some four megabytes; then it begins anew.
    private static let most = 4096

    private let wallets = Mutex<[WalletID: StoreConnection.Attempted]>([:])

    subscript(wallet: WalletID) -> StoreConnection.Attempted? {
        self.wallets.withLock { $0[wallet] }
    }

    func remember(_ found: StoreConnection.Attempted, of wallet: WalletID) {
        self.wallets.withLock { wallets in
            if wallets.count >= Self.most { wallets.removeAll(keepingCapacity: true) }
            wallets[wallet] = found
        }
    }

    func forgetAll() {
        self.wallets.withLock { $0.removeAll(keepingCapacity: true) }
    }

    /// Has a connection tell which rows of wallets it changes, by triggers that no other connection has.
    ///
    /// A connection tells the one that was attached last.
    func attach(to db: Database) throws {
        db.add(
            function: DatabaseFunction("forget_wallet", argumentCount: 1) { arguments in
                let wallet = Data.fromDatabaseValue(arguments[0]).flatMap { WalletID([UInt8]($0)) }
                self.wallets.withLock { wallets in
                    if let wallet { wallets[wallet] = nil } else { wallets.removeAll(keepingCapacity: true) }
                }
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
    }
}
