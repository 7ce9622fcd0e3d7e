internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// A step that runs in a separate transaction.
struct TransactionStep: Sendable {
    let access: StepAccess
    /// Runs the step and returns the function that sends the answer, which is called after the commit.
    let run: @Sendable (StoreTransaction) throws -> @Sendable () -> Void
    let refuse: @Sendable (StoreError) -> Void
}

/// Runs each step in its own transaction.
///
/// Used only by the lane's thread.
final class TransactionWorker {
    /// The maximum number of times that a step is run if others get in its way.
    private static let mostTries = 10

    private let parts: StoreParts
    private let announced: AnnouncedEntry
    private let confirmed: ConfirmedCommits
    private let reconnection: Reconnection

    init(_ parts: StoreParts, _ confirmed: ConfirmedCommits, announced: AnnouncedEntry) {
        self.parts = parts
        self.announced = announced
        self.confirmed = confirmed
        self.reconnection = Reconnection(parts, self.confirmed)
    }

    /// Runs one step and answers it.
    func run(_ step: TransactionStep) {
        let start = self.parts.machine.now()
        for _ in 0..<Self.mostTries {
            guard let session = self.reconnection.current() else { return step.refuse(.unavailable) }
            do {
                let transaction = try StoreTransaction(step.access, on: session, self.parts)
                let answer = try step.run(transaction)
                if transaction.isOnRecord, let mark = self.announced.mark { try transaction.keep(mark) }
                if step.access == .reading { try transaction.commit() } else { try transaction.commit(self.confirmed) }
                self.parts.meters.transaction.record(self.parts.machine.now() - start)
                return answer()
            } catch {
                if let reason = self.reason(for: error, of: step, on: session) { return step.refuse(reason) }
            }
        }
        step.refuse(.unavailable)
    }

    /// Ends a failed transaction.
    ///
    /// Returns the reason to refuse the step, or nil to run it again.
    private func reason(for error: any Error, of step: TransactionStep, on session: StoreSession) -> StoreError? {
        switch error {
        case PostgreSQLFailure.rejected(let state, _) where StoreTransaction.conflicts.contains(state):
            if (try? session.run(.session(.rollBack))) == nil { self.reconnection.drop() }
            return nil
        case PostgreSQLStoreOpenError.epochEnded:
            // Thrown at the beginning of a transaction.
            self.reconnection.drop()
            return nil
        case let error as StoreError:
            if (try? session.run(.session(.rollBack))) == nil { self.reconnection.drop() }
            return error
        case PostgreSQLFailure.outcomeUnknown:
            self.parts.refuse(error)
            self.reconnection.drop()
            // Nothing was to be written.
            return step.access == .reading ? .unavailable : .outcomeUnknown
        default:
            self.parts.refuse(error)
            // The server rolls back the transaction when its connection ends.
            self.reconnection.drop()
            return .unavailable
        }
    }
}

/// A transaction, from its beginning to its commit.
///
/// Every transaction takes its locks in the same order, so that transactions cannot deadlock: the store's facts, a
/// recovery code, and then wallets in order of their ids.
final class StoreTransaction {
    /// The codes for a conflict with another transaction, after which nothing was done: a serialization failure, a
    /// deadlock, or a row that was inserted at the same time.
    static let conflicts: Set<String> = ["40001", "40P01", "23505"]

    let session: StoreSession
    private let parts: StoreParts
    var key: RecordKey { self.parts.key }
    var server: String { self.parts.server }
    /// This server's policy.
    var policy: StorePolicy { StorePolicy(self.parts.policy) }
    /// Whether the transaction changes something that the audit log names.
    ///
    /// It then also stores the newest entry of this server's log, which is durable and not older than the entry that
    /// announced the change.
    var isOnRecord = false

    /// Whether the transaction commits without the lane's next number.
    var isUncounted = false

    /// The wallets that the transaction ends, and whether it revokes the solution: other servers must settle them.
    var ended: [WalletID] = []
    var endsAll = false

    var facts: StoreFacts { self.session.facts }

    /// Begins a transaction and reads the facts.
    init(_ access: StepAccess, on session: StoreSession, _ parts: StoreParts) throws {
        self.session = session
        self.parts = parts
        try session.recordSchemaChecks()
        _ = try session.run(.session(.begin(isReadOnly: access == .reading)))
        // The table lock is granted in the order of requests. The row lock is not: under load, transactions that share
        // it keep overtaking a revocation of the solution.
        if access == .changingFacts { _ = try session.run(.facts(.lockTable)) }
        let lock: FactStatement.Lock =
            switch access {
            case .reading: .none
            case .writing: .shared
            case .changingFacts: .exclusive
            }
        try session.take(try session.run(session.facts(lock)))
    }

    func commit() throws {
        let done = try self.session.commit(.session(.commit))
        // A transaction with a failed statement is rolled back instead.
        guard done.command == "COMMIT" else { throw StoreError.unavailable }
    }

    /// Commits with the lane's next number.
    ///
    /// The command that opens an epoch commits without a number, and so does a server that records a loss. Otherwise,
    /// they would fill the gap that shows how many commits the database lacks, and the epoch might charge too little.
    /// An epoch records the commits made before it, so the transaction that opens it has no number either.
    func commit(_ confirmed: ConfirmedCommits) throws {
        guard !self.parts.acceptsLostCommits, !self.isUncounted else {
            try self.announceEnds()
            try self.commit()
            return try self.session.checkAfterCommit()
        }
        let counted = try self.run(.server(.countCommit(server: self.server, .transactions)))
        guard let number = counted.number(0, 0) else { throw StoreError.corrupt }
        try self.session.check(objects: counted.text(0, 1))
        try self.announceEnds()
        try self.commit()
        try self.session.checkAfterCommit()
        try confirmed.note(number, of: .transactions, epoch: self.session.epoch)
    }

    @discardableResult
    func run(_ statement: StoreStatement) throws -> PostgreSQLRows { try self.session.run(statement) }

    /// Runs a statement that no simulated run uses.
    @discardableResult
    func run(_ text: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
        try self.session.run(.sql(text, values))
    }
}

/// Wallets in a transaction.
extension StoreTransaction: Rows {
    /// Returns a wallet's values without a lock, or nil if the wallet is unknown.
    func read(_ wallet: WalletID) throws -> StoredValues? {
        guard let found = try self.session.wallets([wallet])[wallet] else { return nil }
        guard let found else { throw StoreError.corrupt }
        return found
    }

    /// Locks a wallet until the commit and returns both rows.
    ///
    /// This takes two statements: the first waits for other transactions, and only the second sees the wide row that
    /// they left.
    func hold(_ wallet: WalletID, with parts: WalletParts) throws -> StoredValues? {
        let locked = try self.run(.wallet(.lock(wallet)))
        guard locked.count == 1 else { return nil }
        return try self.read(wallet)
    }

    /// Writes the narrow row, which has the attempts, and the wide one if it changes.
    func keep(_ held: StoredValues, _ parts: WalletParts) throws {
        if parts.isSubset(of: .attempts) { try self.keep(held) } else { try self.keepAll(held) }
    }

    /// Writes a locked wallet's narrow row.
    ///
    /// Invariant (G4): the database returns the row that it stored, which is the one that was sent.
    func keep(_ values: StoredValues) throws {
        let narrow = values.narrow(by: self.key)
        let changed = try self.run(.wallet(.keepRecord(values.id, narrow, replacing: values.onFile)))
        guard changed.count == 1, changed.bytes(0, 0) == narrow else { throw StoreError.corrupt }
    }

    /// Writes both rows of a locked wallet, the wide one as the next version.
    func keepAll(_ values: StoredValues) throws {
        var values = values
        values.version += 1
        try self.keep(values)
        let changed = try self.run(.wallet(.keepValues(values.id, wide: values.wide)))
        guard changed.changed == 1 else { throw StoreError.corrupt }
    }

    func keepEnd(of wallet: WalletID, at now: Timestamp) throws {
        self.ended.append(wallet)
        try self.run(.wallet(.noteEnd(wallet, at: now)))
    }

    func remove(_ wallets: [WalletID]) throws {
        guard !wallets.isEmpty else { return }
        for table in WalletStatement.Table.allCases { try self.run(.wallet(.delete(table, wallets))) }
    }
}

/// The side tables, and notes for the commit.
extension StoreTransaction {
    @discardableResult
    func query(_ statement: SideStatement, _ values: [ColumnValue]) throws -> [PostgreSQLRow] {
        PostgreSQLRow.all(in: try self.run(.side(statement, values)))
    }

    /// No copy of a share stays behind: a revocation destroys the key of the wide row.
    func noteDestroyed() {}
    func noteDestroyedBefore() {}
    func noteAudited() { self.isOnRecord = true }
}

/// A row of a result.
struct PostgreSQLRow: StoredColumns {
    let rows: PostgreSQLRows
    let place: Int

    static func all(in rows: PostgreSQLRows) -> [PostgreSQLRow] {
        (0..<rows.count).map { PostgreSQLRow(rows: rows, place: $0) }
    }

    func numberIfAny(_ column: Int) -> Int64? { self.rows.number(self.place, column) }
    func textIfAny(_ column: Int) -> String? { self.rows.text(self.place, column) }
    func bytesIfAny(_ column: Int) -> [UInt8]? { self.rows.bytes(self.place, column) }
}
