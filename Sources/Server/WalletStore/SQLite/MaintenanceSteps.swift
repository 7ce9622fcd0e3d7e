internal import GRDB
internal import PreparedSQL
import Vocabulary

extension SQLiteWalletStore: MaintenanceStore {
    package var removedAtOnce: Int { StoreConnection.removedAtOnce }

    /// Raises the generation above the given one.
    ///
    /// Used by a restore.
    package func raiseGeneration(above other: UInt64) async throws(StoreError) {
        try await self.queue.perform { try $0.raiseGeneration(above: other) }
    }

    /// Returns the number of requests made to the witness.
    package func witnessStep() async throws(StoreError) -> UInt64 {
        try await self.queue.perform { try $0.witnessStep() }
    }

    /// Raises the number of witness requests above both its current value and `other`, and returns it.
    package func raiseWitnessStep(above other: UInt64 = 0) async throws(StoreError) -> UInt64 {
        try await self.queue.perform { try $0.raiseWitnessStep(above: other) }
    }

    package func auditMark() async throws(StoreError) -> StoredAuditMark? {
        try await self.queue.perform { try $0.auditMark() }
    }

    /// Checks the whole file, which takes as long as reading it.
    ///
    /// Must not be called while wallets are served.
    package func inspect() async throws(StoreError) -> StoreInspection {
        try await self.queue.perform { try $0.inspect() }
    }

    package func walletCount() async throws(StoreError) -> Int {
        try await self.queue.perform { try $0.walletCount() }
    }

    package func unconfirmedShares() async throws(StoreError) -> Int {
        try await self.queue.perform { try $0.unconfirmedShares() }
    }

    package func recordKeyFits() async throws(StoreError) -> Bool {
        try await self.queue.perform { try $0.recordKeyFits() }
    }
}

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

    /// Compares the schema with the one that this program makes, if that is due; returns the differences.
    func schemaDifferences(at now: ContinuousClock.Instant) throws -> [String] {
        guard now >= self.nextSchemaCheck else { return [] }
        self.nextSchemaCheck = now + Self.schemaCheckInterval
        let schema = Schema.current
        return schema.differences(in: try SchemaEntry.all(in: self.db), ofVersion: schema.version)
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
}

/// The result of checking a whole store.
package struct StoreInspection: Hashable, Sendable {
    /// The damage reported by SQLite, empty if the file is intact.
    package var damage: [String]
    package var wallets: Int
    /// The latest epoch named in any wallet's row.
    package var latestEpoch: Int
}

extension StoreConnection {
    func walletCount() throws -> Int {
        try Int.fetchOne(self.db, sql: "SELECT count(*) FROM wallets") ?? 0
    }
}
