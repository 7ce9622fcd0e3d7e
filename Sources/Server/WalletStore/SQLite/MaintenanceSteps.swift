internal import GRDB
internal import PreparedSQL
package import Vocabulary

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

    package func keepAuditMark() async throws(StoreError) {
        try await self.queue.perform { try $0.keepAuditMark() }
    }

    package func inUse(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID] {
        var found: [WalletID] = []
        for page in wallets.pieces(of: endedAtOnce) {
            found += try await self.queue.perform { try $0.inUse(page) }
        }
        return found
    }

    package func unblocked(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID] {
        var found: [WalletID] = []
        for page in wallets.pieces(of: endedAtOnce) {
            found += try await self.queue.perform { connection in try page.filter { try connection.isUnblocked($0) } }
        }
        return found
    }

    package func epochs() async throws(StoreError) -> [StoredEpoch] {
        try await self.queue.perform { try $0.epochs() }
    }

    package func open(_ epochs: [StoredEpoch]) async throws(StoreError) {
        try await self.queue.perform { try $0.open(epochs) }
    }

    /// Checks the whole file, which takes as long as reading it.
    ///
    /// Must not be called while wallets are served.
    package func inspect() async throws(StoreError) -> StoreInspection {
        try await self.queue.perform { try $0.inspect() }
    }

    package func purgeable(
        after: UInt64?,
        lookingAt limit: Int,
        endedBefore time: Timestamp
    ) async throws(StoreError) -> Purgeable {
        try await self.queue.perform { try $0.purgeable(after: after, lookingAt: limit, endedBefore: time) }
    }

    package func walletCount() async throws(StoreError) -> Int {
        try await self.queue.perform { try $0.walletCount() }
    }

    package func beginShareRefresh(at now: Timestamp) async throws(StoreError) {
        try await self.queue.perform { try $0.beginShareRefresh(at: now) }
    }

    package func walletsToRefresh(limit: Int) async throws(StoreError) -> [RefreshableWallet]? {
        try await self.queue.perform { try $0.walletsToRefresh(limit: limit) }
    }

    package func offer(_ shares: [OfferedShares]) async throws(StoreError) {
        try await self.queue.perform { try $0.offer(shares) }
    }

    package func unconfirmedShares() async throws(StoreError) -> Int {
        try await self.queue.perform { try $0.unconfirmedShares() }
    }

    package func recordKeyFits() async throws(StoreError) -> Bool {
        try await self.queue.perform { try $0.recordKeyFits() }
    }

    package func checkRecords(after: UInt64?, limit: Int) async throws(StoreError) -> RecordCheck {
        try await self.queue.perform { try $0.checkRecords(after: after, limit: limit) }
    }

    package func sealedValues(after: UInt64?, limit: Int) async throws(StoreError) -> [SealedWallet] {
        try await self.queue.perform { try $0.sealedValues(after: after, limit: limit) }
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
