internal import PostgreSQLClient

/// One execution of a statement: the tables as it sees them, its parameters, and its changes.
struct StatementExecution {
    /// Another transaction holds a lock that the statement needs.
    struct Blocked: Error {}

    /// The statement fails with this SQLSTATE.
    struct Rejected: Error {
        let state: String
    }

    private let database: SimulatedDatabase
    let backend: Backend
    private let transaction: DatabaseTransaction
    private let values: [PostgreSQLValue]
    private(set) var tables: DatabaseTables
    private(set) var changes: [DatabaseTransaction.Change] = []
    var notified: Set<String> = []

    init(
        _ database: SimulatedDatabase,
        _ backend: Backend,
        _ transaction: DatabaseTransaction,
        _ values: [PostgreSQLValue]
    ) {
        (self.database, self.backend, self.transaction, self.values) = (database, backend, transaction, values)
        self.tables = database.visible
        for change in transaction.changes { change(&self.tables) }
    }

    /// Changes the tables, for others after the commit.
    mutating func change(_ change: @escaping DatabaseTransaction.Change) {
        change(&self.tables)
        self.changes.append(change)
    }

    /// Takes a lock until the end of the transaction, or throws ``Blocked``.
    func lock(_ lock: DatabaseLock, isShared: Bool = false) throws {
        guard self.tryLock(lock, isShared: isShared) else { throw Blocked() }
    }

    /// Takes a lock until the end of the transaction; returns false if another transaction holds it.
    func tryLock(_ lock: DatabaseLock, isShared: Bool = false) -> Bool {
        self.database.lock(lock, isShared: isShared, for: self.transaction)
    }

    /// Takes a lock until the end of the session; returns false if another session holds it.
    func tryLockForSession(_ lock: DatabaseLock) -> Bool {
        self.database.lock(lock, isShared: false, for: self.backend.session)
    }

    /// The database's clock.
    var clock: Int64 { self.database.clock }

    /// The servers with a session.
    var serverSessions: [String] { self.database.serverSessions }

    func nextPlace() -> Int64 { self.database.nextPlace() }

    // MARK: Parameters, by number

    func value(_ number: Int) -> PostgreSQLValue { self.values[number - 1] }

    func values(_ numbers: ClosedRange<Int>) -> [PostgreSQLValue] { numbers.map { self.value($0) } }

    func bytes(_ number: Int) -> [UInt8] {
        guard case .bytes(let bytes) = self.value(number) else { preconditionFailure("$\(number) is no bytea") }
        return bytes
    }

    func text(_ number: Int) -> String {
        guard case .text(let text) = self.value(number) else { preconditionFailure("$\(number) is no text") }
        return text
    }

    func number(_ number: Int) -> Int64 {
        guard case .number(let value) = self.value(number) else { preconditionFailure("$\(number) is no bigint") }
        return value
    }

    /// A text, or nil for NULL.
    func optionalText(_ number: Int) -> String? {
        if case .null = self.value(number) { return nil }
        return self.text(number)
    }

    /// A `bigint`, or nil for NULL.
    func optionalNumber(_ number: Int) -> Int64? {
        if case .null = self.value(number) { return nil }
        return self.number(number)
    }

    func flag(_ number: Int) -> Bool {
        guard case .flag(let flag) = self.value(number) else { preconditionFailure("$\(number) is no boolean") }
        return flag
    }

    func arrays(_ number: Int) -> [[UInt8]] {
        guard case .byteArrays(let arrays) = self.value(number) else { preconditionFailure("$\(number) is no array") }
        return arrays
    }
}
