internal import GRDB
internal import PreparedSQL
package import Vocabulary

extension SQLiteWalletStore: MaintenanceStore {
    /// The maximum number of wallets ended by one step, so that PIN checks do not wait long.
    private static let endedAtOnce = 500

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
        for page in wallets.pieces(of: Self.endedAtOnce) {
            found += try await self.queue.perform { try $0.inUse(page) }
        }
        return found
    }

    package func unblocked(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID] {
        var found: [WalletID] = []
        for page in wallets.pieces(of: Self.endedAtOnce) {
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

    package func end(
        _ wallets: [WalletID],
        as revocation: Revocation,
        at now: Timestamp
    ) async throws(StoreError) -> WalletsEnding {
        var ending = WalletsEnding()
        for page in wallets.pieces(of: Self.endedAtOnce) {
            let done = try await self.queue.perform { try $0.end(page, as: revocation, at: now) }
            ending.ended += done.ended
            ending.before += done.before
            ending.unknown += done.unknown
        }
        return ending
    }

    package func purgeable(
        after: UInt64?,
        lookingAt limit: Int,
        endedBefore time: Timestamp
    ) async throws(StoreError) -> Purgeable {
        try await self.queue.perform { try $0.purgeable(after: after, lookingAt: limit, endedBefore: time) }
    }

    package func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws(StoreError) -> Int {
        var purged = 0
        for page in wallets.pieces(of: StoreConnection.removedAtOnce) {
            purged += try await self.queue.perform { try $0.purge(page, endedBefore: limit) }
        }
        return purged
    }

    package func blockPermanently(_ wallets: [WalletID]) async throws(StoreError) -> Int {
        var blocked = 0
        for page in wallets.pieces(of: Self.endedAtOnce) {
            blocked += try await self.queue.perform { try $0.blockPermanently(page) }
        }
        return blocked
    }

    package func vaultVersions() async throws(StoreError) -> [StoredVaultVersion] {
        try await self.queue.perform { try $0.vaultVersions() }
    }

    package func note(
        vaultVersion version: UInt32,
        check: [UInt8],
        at now: Timestamp
    ) async throws(StoreError) -> [StoredVaultVersion] {
        try await self.queue.perform { try $0.note(vaultVersion: version, check: check, at: now) }
    }

    package func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) async throws(StoreError) {
        try await self.queue.perform { try $0.noteSealedAnew(vaultVersion: version, at: now) }
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

    package func replace(_ values: [SealedReplacement]) async throws(StoreError) {
        try await self.queue.perform { try $0.replace(values) }
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

/// The result of checking a whole store.
package struct StoreInspection: Hashable, Sendable {
    /// The damage reported by SQLite, empty if the file is intact.
    package var damage: [String]
    package var wallets: Int
    /// The latest epoch named in any wallet's row.
    package var latestEpoch: Int
}

/// Records of the vault's key versions.
///
/// They contain no keys.
extension StoreConnection {
    /// Records that a version seals values, along with the check value of its key.
    ///
    /// Does nothing if the version is known. Returns all versions in ascending order.
    func note(vaultVersion version: UInt32, check: [UInt8], at now: Timestamp) throws -> [StoredVaultVersion] {
        try self.db.execute(
            sql: """
                INSERT INTO vault_versions (version, active_since, key_check) VALUES (?, ?, ?)
                ON CONFLICT (version) DO NOTHING
                """,
            arguments: [version, now.milliseconds, check.blob]
        )
        try self.readReceiptVersion()
        return try self.vaultVersions()
    }

    /// Returns all versions that have sealed values, in ascending order.
    func vaultVersions() throws -> [StoredVaultVersion] {
        try Row.fetchAll(
            self.db,
            sql: "SELECT version, active_since, sealed_anew_at, key_check FROM vault_versions ORDER BY version"
        ).map { row in
            StoredVaultVersion(
                version: UInt32(clamping: try row.number(0)),
                activeSince: Timestamp(milliseconds: try row.number(1)),
                sealedAnewAt: Int64.fromDatabaseValue(row[2]).map { Timestamp(milliseconds: $0) },
                check: try row.bytes(3)
            )
        }
    }

    /// Records that no value is sealed with an older version anymore.
    ///
    /// If `now` is nil, removes that record.
    func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) throws {
        // The old values must then be removed from the log as well. Removing the record destroys nothing.
        if now != nil { self.noteDestroyed() }
        try self.db.execute(
            sql: "UPDATE vault_versions SET sealed_anew_at = ? WHERE version = ?",
            arguments: [now?.milliseconds, version]
        )
    }

    func walletCount() throws -> Int {
        try Int.fetchOne(self.db, sql: "SELECT count(*) FROM wallets") ?? 0
    }
}
