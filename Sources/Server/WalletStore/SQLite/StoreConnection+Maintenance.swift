internal import GRDB
internal import PreparedSQL
import Vocabulary

/// Maintenance steps that cover many wallets.
extension StoreConnection {
    func inspect() throws -> StoreInspection {
        let words = try String.fetchAll(self.db, sql: "PRAGMA integrity_check(20)")
        var wallets = 0
        var latestEpoch: UInt32 = 1
        let states = try Row.fetchCursor(self.db, sql: "SELECT state FROM wallets")
        while let row = try states.next() {
            wallets += 1
            latestEpoch = max(latestEpoch, try row.walletState(0).epoch)
        }
        return StoreInspection(
            damage: words == ["ok"] ? [] : words,
            wallets: wallets,
            latestEpoch: Int(latestEpoch)
        )
    }

    /// Compares the schema with the one that this program makes, if that is due.
    ///
    /// Returns the differences.
    func schemaDifferences(at now: ContinuousClock.Instant) throws -> [String] {
        guard now >= self.nextSchemaCheck else { return [] }
        self.nextSchemaCheck = now + Self.schemaCheckInterval
        let schema = Schema.current
        return schema.differences(in: try SchemaEntry.all(in: self.db), ofVersion: schema.version)
    }

    func end(_ wallets: [WalletID], as revocation: Revocation, at now: Timestamp) throws -> WalletsEnding {
        var ending = WalletsEnding()
        for id in wallets {
            guard var row = try self.wallet(id) else {
                ending.unknown += 1
                continue
            }
            if row.state.revocation == nil { ending.ended += 1 } else { ending.before += 1 }
            try self.revoke(&row, revocation, at: now)
        }
        return ending
    }

    /// Searches the next wallets for links to a recovery code.
    ///
    /// Returns the linked ones, including ended ones, and the cursor to continue after. The column has no index,
    /// because only a right PIN would write to it. Instead, every wallet is read, a few at a time.
    ///
    /// - Returns: Nil after the last wallet.
    func linked(
        to mac: RecoveryCodeMAC,
        after key: Int64,
        atMost rows: Int
    ) throws -> (wallets: [WalletID], last: Int64)? {
        let end = try Int64.fetchOne(
            self.db,
            sql: "SELECT max(key) FROM (SELECT key FROM wallets WHERE key > ? ORDER BY key LIMIT ?)",
            arguments: [key, rows]
        )
        guard let end else { return nil }
        let wallets = try Row.fetchAll(
            self.db,
            sql: "SELECT id, state FROM wallets WHERE key > ? AND key <= ? AND recovery_mac = ?",
            arguments: [key, end, mac.blob]
        ).compactMap { row -> WalletID? in try row.walletState(1).isLinked ? try row.identifier(0) : nil }
        return (wallets, end)
    }

    func sealedValues(after: UInt64?, limit: Int) throws -> [SealedWallet] {
        let statement = try PreparedStatement(
            "SELECT \(WalletRow.columns), id FROM wallets WHERE key > ? ORDER BY key LIMIT ?",
            on: self.db
        )
        statement.bind(after.map { Int64(bitPattern: $0) } ?? .min, at: 1)
        statement.bind(Int64(limit), at: 2)
        return try statement.all { row in
            let wallet = try WalletRow(row)
            return SealedWallet(
                cursor: UInt64(bitPattern: wallet.key.number),
                walletID: try row.identifier(9),
                values: wallet.sealedValues(with: try self.nextShares(of: wallet.key))
            )
        }
    }

    /// Replaces sealed values after comparing each old value with the stored one, so that no change made in the
    /// meantime is lost.
    func replace(_ values: [SealedReplacement]) throws {
        for replacement in values {
            guard var row = try self.wallet(replacement.walletID) else { continue }
            let next = try self.nextShares(of: row.key)
            guard row.sealedValues(with: next) == replacement.old, row.take(replacement.new) else { continue }
            try self.keep(row)
            if let new = replacement.new.shares?.next, new != next { try self.keep(new, of: row.key) }
        }
    }
}
