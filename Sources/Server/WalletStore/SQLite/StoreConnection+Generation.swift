internal import GRDB
internal import PreparedSQL

/// The store's generation, a number that increases with every commit that changes the store.
///
/// The write that raises the generation is the same for all verdicts.
///
/// Invariant: the generation never decreases. A mark, log or witness with a higher generation proves that the store
/// lacks commits or is an older copy.
extension StoreConnection {
    func write(generation: UInt64) throws {
        let statement = self.statements.setGeneration
        statement.bind(Int64(clamping: generation), at: 1)
        try statement.run()
    }

    /// Makes this transaction write a generation above both `other` and the store's current one.
    ///
    /// Used by a restore.
    func raiseGeneration(above other: UInt64) throws {
        self.generation = max(self.generation, other)
        try self.write(generation: self.generation)
    }

    func readGeneration() throws {
        let value = try Int64.fetchOne(self.db, sql: "SELECT value FROM generation")
        guard let value, let generation = UInt64(exactly: value) else { throw StoreError.corrupt }
        self.generation = generation
    }

    /// Returns the number of the page containing the generation.
    ///
    /// Pages are numbered from 1, and this number never changes.
    func generationPage() throws -> UInt32 {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'generation'"
        guard let page = try UInt32.fetchOne(self.db, sql: sql) else { throw StoreError.corrupt }
        return page
    }

    func witnessStep() throws -> UInt64 {
        let value = try Int64.fetchOne(self.db, sql: "SELECT witness_step FROM generation")
        guard let value, let step = UInt64(exactly: value) else { throw StoreError.corrupt }
        return step
    }

    /// Sets the witness step to one more than the higher of its current value and `other`, and returns it.
    func raiseWitnessStep(above other: UInt64) throws -> UInt64 {
        let step = max(try self.witnessStep(), other) + 1
        try self.db.execute(sql: "UPDATE generation SET witness_step = ?", arguments: [Int64(clamping: step)])
        return step
    }
}
