internal import SQLiteClient
import Vocabulary

extension SQLiteWalletStore {
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

    /// Checks the whole file, which takes as long as reading it.
    ///
    /// Must not be called while wallets are served.
    package func inspect() async throws(StoreError) -> StoreInspection {
        try await self.queue.perform { try $0.inspect() }
    }
}

/// Maintenance steps that cover many wallets.
extension StoreConnection {
    func inspect() throws -> StoreInspection {
        let words = try self.db.run("PRAGMA integrity_check(20)").map { try $0.text(0) }
        var wallets = 0
        var latestEpoch: UInt32 = 1
        try self.db.statement("SELECT state FROM wallets").forEachRow { row in
            wallets += 1
            let state = (try? row.kept(0)).flatMap { WalletState(decoding: $0) }
            latestEpoch = max(latestEpoch, state?.epoch ?? 1)
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
}

/// The result of checking a whole store.
package struct StoreInspection: Hashable, Sendable {
    /// The damage reported by SQLite, empty if the file is intact.
    package var damage: [String]
    package var wallets: Int
    /// The latest epoch named in any wallet's row.
    package var latestEpoch: Int
}
