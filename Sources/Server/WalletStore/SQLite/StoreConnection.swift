import PINPolicy
import SQLiteClient
import Vocabulary

/// The database, and what is remembered of it.
///
/// Used only on the store's thread.
final class StoreConnection {
    let db: SQLiteDatabase
    /// The key for the MACs of attempt records.
    let key: RecordKey
    /// The store's facts, as of the current transaction.
    ///
    /// Read again after a rollback and otherwise changed only by the steps that write them.
    private(set) var facts = StoreFacts()
    /// The cached rows of recently judged wallets, so that judging one of them again requires no read.
    let known: KnownWallets
    /// Whether any wallet has next shares.
    ///
    /// Changed only in NextShares.swift.
    var hasNextShares = false
    /// Set by a step that destroyed shares.
    ///
    /// The log is then emptied before any step is answered.
    var mustTruncateLog = false
    /// Whether the log may contain copies of destroyed shares.
    private(set) var owesTruncation = false
    /// The verdicts in this transaction, or nil if the store issues no receipts.
    private(set) var receipts: ReceiptBatch?
    private let issuesReceipts: Bool
    /// The generation of the last commit.
    ///
    /// If the current transaction changes the store, it gets the next one.
    var generation: UInt64 = 0
    private var changesBefore: Int64 = 0
    /// The newest audit log entry.
    var announced = AnnouncedEntry()
    /// The entry stored by the transaction, or nil if unknown.
    var keptAuditMark: StoredAuditMark?
    /// The time at which the schema must be compared again; it was compared when the store was opened.
    var nextSchemaCheck = ContinuousClock.now + StoreConnection.schemaCheckInterval
    static let schemaCheckInterval: Duration = .seconds(3600)
    /// The copy in progress, if any.
    var copy: DatabaseCopy?

    init(_ db: SQLiteDatabase, key: RecordKey, issuesReceipts: Bool = false, openings: Openings = Openings()) throws {
        self.db = db
        self.key = key
        self.issuesReceipts = issuesReceipts
        self.known = KnownWallets(openings)
        try self.known.attach(to: db)
        try self.readEpochs()
        try self.readSolution()
        try self.readReceiptVersion()
        try self.findNextShares()
        try self.readGeneration()
    }

    /// Reads the epochs and their charges.
    func readEpochs() throws {
        self.facts.charges = try StoredEpochs().run(in: self).map { EpochCharge($0.rule, openedAt: $0.openedAt) }
    }

    func begin() throws {
        self.receipts = self.issuesReceipts ? ReceiptBatch() : nil
        self.changesBefore = self.db.totalChanges
        try self.db.statement("BEGIN IMMEDIATE").run()
    }

    /// Commits the transaction and returns whether it changed anything.
    ///
    /// If so, it gets the next generation.
    func commit() throws -> Bool {
        let changes = self.db.totalChanges != self.changesBefore
        if changes { try self.write(generation: self.generation + 1) }
        try self.db.statement("COMMIT").run()
        if changes { self.generation += 1 }
        return changes
    }

    func rollBack() throws {
        // After some failures, SQLite has already rolled back.
        if self.db.isInTransaction { try self.db.execute("ROLLBACK") }
        try self.startAgain()
    }

    func beginStep() throws {
        try self.db.execute("SAVEPOINT step")
    }

    func endStep() throws {
        try self.db.execute("RELEASE step")
    }

    func undoStep() throws {
        try self.db.execute("ROLLBACK TO step; RELEASE step")
        try self.startAgain()
    }

    /// Recovers after a rollback.
    ///
    /// Forgets the statements, because one that failed fails again when reused (`sqlite3_reset(3)`), and rereads values
    /// that may have changed.
    private func startAgain() throws {
        self.known.forgetAll()
        self.keptAuditMark = nil
        self.db.forgetStatements()
        try self.readGeneration()
        try self.readSolution()
        try self.readReceiptVersion()
        try self.readEpochs()
        try self.findNextShares()
    }

    /// Copies the log into the database and truncates it to zero length.
    func truncateLog() throws {
        try self.db.truncateLog()
        self.owesTruncation = false
    }

    /// Records that this step destroyed shares or other values that must become unreadable.
    func noteDestroyed() {
        self.owesTruncation = true
        self.mustTruncateLog = true
    }

    /// Records that an earlier step already destroyed the values that this step would destroy.
    ///
    /// The log is emptied only if emptying it failed at the time or is still pending. Otherwise, the owner of an ended
    /// wallet could make every batch of other wallets wait for it.
    func noteDestroyedBefore() {
        if self.owesTruncation { self.mustTruncateLog = true }
    }

    func setSolutionRevoked(_ revoked: Bool) throws {
        try self.db.run("UPDATE solution SET revoked = ?", [.number(revoked ? 1 : 0)])
        try self.readSolution()
    }

    /// Reads the version that announces and signs, and forgets the sessions that were read with another one.
    func readReceiptVersion() throws {
        self.facts.receiptVersion = try self.vaultVersions().last?.version
        self.known.openings.forgetAll()
    }

    private func readSolution() throws {
        guard let number = try self.db.number("SELECT revoked FROM solution") else { throw StoreError.corrupt }
        self.facts.isSolutionRevoked = number != 0
    }
}

/// The store's generation, a number that increases with every commit that changes the store.
///
/// The write that raises the generation is the same for all verdicts.
///
/// Invariant: the generation never decreases. A mark, log or witness with a higher generation proves that the store
/// lacks commits or is an older copy.
extension StoreConnection {
    func write(generation: UInt64) throws {
        let statement = try self.db.statement("UPDATE generation SET value = ?")
        statement.bind(Int64(clamping: generation), at: 1)
        try statement.run()
    }

    /// Makes this transaction write a generation above both `other` and the store's current one.
    ///
    /// Used by a restore.
    func raiseGeneration(above other: UInt64) throws {
        self.generation = max(self.generation, other)  // rule: store-restore-keeps-generation
        try self.write(generation: self.generation)
    }

    func readGeneration() throws {
        let value = try self.db.number("SELECT value FROM generation")
        guard let value, let generation = UInt64(exactly: value) else { throw StoreError.corrupt }
        self.generation = generation
    }

    /// Returns the number of the page containing the generation.
    ///
    /// Pages are numbered from 1, and this number never changes.
    func generationPage() throws -> UInt32 {
        let page = try self.db.number("SELECT rootpage FROM sqlite_schema WHERE name = 'generation'")
        guard let page = page.flatMap({ UInt32(exactly: $0) }) else { throw StoreError.corrupt }
        return page
    }

    func witnessStep() throws -> UInt64 {
        let value = try self.db.number("SELECT witness_step FROM generation")
        guard let value, let step = UInt64(exactly: value) else { throw StoreError.corrupt }
        return step
    }

    /// Sets the witness step to one more than the higher of its current value and `other`, and returns it.
    func raiseWitnessStep(above other: UInt64) throws -> UInt64 {
        let step = max(try self.witnessStep(), other) + 1
        try self.db.run("UPDATE generation SET witness_step = ?", [.number(Int64(clamping: step))])
        return step
    }
}

/// The mark that ties the store to its audit log.
///
/// Invariant: each commit with an audited change also stores the newest entry of the audit log. That entry is durable
/// and no older than the entry that announced the change. If the log was truncated, removed or replaced, it therefore
/// lacks the entry that the store names, which the next start detects.
extension StoreConnection {
    /// Stores the newest entry in the current transaction if it is not stored yet.
    func keepAuditMark() throws {
        guard let mark = self.announced.mark, mark != self.keptAuditMark else { return }
        try self.db.run(
            """
            INSERT INTO audit_mark (id, number, mac) VALUES (1, ?, ?)
            ON CONFLICT (id) DO UPDATE SET number = excluded.number, mac = excluded.mac
            """,
            [.number(Int64(clamping: mark.number)), .text(mark.mac)]
        )
        self.keptAuditMark = mark
    }

    func auditMark() throws -> StoredAuditMark? {
        guard let row = try self.db.run("SELECT number, mac FROM audit_mark").first else { return nil }
        guard let number = UInt64(exactly: try row.number(0)) else { throw StoreError.corrupt }
        return StoredAuditMark(number: number, mac: try row.text(1))
    }
}
