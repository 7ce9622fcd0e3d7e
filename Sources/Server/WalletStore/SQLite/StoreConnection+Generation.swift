internal import GRDB
internal import PreparedSQL

/// The store's generation: a number that rises with every commit that counts.
///
/// A commit counts if it writes attempts, a wallet's row, the deny list or the solution's revocation: an older copy
/// without it would give attempts back or undo a revocation. A commit raises the generation by the same write for all
/// verdicts.
///
/// Invariant: the generation never falls. A log or a witness with a higher one proves that the store is an older copy.
extension StoreConnection {
    /// Writes the next generation, if the transaction counts.
    func raiseGeneration() throws {
        guard self.counts else { return }
        let statement = self.statements.setGeneration
        statement.bind(Int64(clamping: self.generation + 1), at: 1)
        try statement.run()
    }

    /// Makes this transaction write a generation above `other` and above the store's; used by a restore.
    func raiseGeneration(above other: UInt64) throws {
        self.counts = true
        self.generation = max(self.generation, other)
    }

    func readGeneration() throws {
        let value = try Int64.fetchOne(self.db, sql: "SELECT value FROM generation")
        guard let value, let generation = UInt64(exactly: value) else { throw StoreError.corrupt }
        self.generation = generation
    }

    func witnessStep() throws -> UInt64 {
        let value = try Int64.fetchOne(self.db, sql: "SELECT witness_step FROM generation")
        guard let value, let step = UInt64(exactly: value) else { throw StoreError.corrupt }
        return step
    }

    /// Sets the step to one more than the highest of the store's and `other`; returns it.
    func raiseWitnessStep(above other: UInt64) throws -> UInt64 {
        let step = max(try self.witnessStep(), other) + 1
        try self.db.execute(sql: "UPDATE generation SET witness_step = ?", arguments: [Int64(clamping: step)])
        return step
    }
}
