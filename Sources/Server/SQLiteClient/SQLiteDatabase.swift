internal import CSQLite

/// An open SQLite database.
///
/// Safety invariants: It is used only by one thread at a time, which is why it is not `Sendable`. The handle is valid
/// until ``close()``; afterwards nothing else may be called. SQLite itself keeps a closed connection until the last of
/// its statements is gone (`sqlite3_close_v2(3)`).
@safe package final class SQLiteDatabase {
    private(set) var handle: OpaquePointer?
    /// The compiled statements, by their text.
    private var statements: [String: PreparedStatement] = [:]

    /// The time in milliseconds that a statement waits for another process's lock.
    private static let lockTimeout: Int32 = 1000

    /// Opens a file, which is created if it is missing, or a database in memory.
    package convenience init(_ path: String = ":memory:") throws(SQLiteFailure) {
        try self.init(path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX)
    }

    /// - Parameter flags: Those of `sqlite3_open_v2(3)`.
    init(_ path: String, flags: Int32) throws(SQLiteFailure) {
        guard unsafe sqlite3_open_v2(path, &self.handle, flags, nil) == SQLITE_OK else {
            throw self.failure(unsafe sqlite3_extended_errcode(self.handle))
        }
        unsafe sqlite3_extended_result_codes(self.handle, 1)
        unsafe sqlite3_busy_timeout(self.handle, Self.lockTimeout)
    }

    deinit { self.close() }

    /// Closes the file once no statement is left, and removes its log.
    package func close() {
        self.statements = [:]
        unsafe sqlite3_close_v2(self.handle)
        unsafe self.handle = nil
    }

    /// Returns the failure of the call that has just failed.
    func failure(_ code: Int32) -> SQLiteFailure { unsafe SQLiteFailure(code, of: self.handle) }

    func require(_ code: Int32) throws(SQLiteFailure) {
        guard code == SQLITE_OK else { throw self.failure(code) }
    }

    // MARK: Statements

    /// Runs statements without parameters, and ignores their rows.
    package func execute(_ script: String) throws(SQLiteFailure) {
        try self.require(unsafe sqlite3_exec(self.handle, script, nil, nil, nil))
    }

    /// Runs a statement with values for its parameters in order, and returns its rows.
    @discardableResult
    package func run(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteFailure) -> [SQLiteRow] {
        try self.statement(sql).rows(values)
    }

    /// Runs a statement that returns at most one row, and returns the row's first number.
    package func number(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteFailure) -> Int64? {
        try self.run(sql, values).first?.numberIfAny(0)
    }

    /// Returns a statement that is compiled at its first use.
    package func statement(_ sql: String) throws(SQLiteFailure) -> PreparedStatement {
        if let statement = self.statements[sql] { return statement }
        let statement = try PreparedStatement(sql, on: self)
        self.statements[sql] = statement
        return statement
    }

    /// Forgets the compiled statements: one that failed fails again when it is run again (`sqlite3_reset(3)`).
    package func forgetStatements() { self.statements = [:] }

    /// Runs statements in a transaction, which is rolled back if one of them fails.
    package func inTransaction(_ body: () throws -> Void) throws {
        try self.execute("BEGIN IMMEDIATE")
        do {
            try body()
            try self.execute("COMMIT")
        } catch {
            if self.isInTransaction { try? self.execute("ROLLBACK") }
            throw error
        }
    }

    // MARK: State

    package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(self.handle) == 0 }

    /// The number of rows that were added, changed and removed since the database was opened.
    package var totalChanges: Int64 { unsafe Int64(sqlite3_total_changes(self.handle)) }

    package var lastInsertedRow: Int64 { unsafe sqlite3_last_insert_rowid(self.handle) }

    /// Copies the write-ahead log into the database and empties it.
    package func truncateLog() throws(SQLiteFailure) { try self.checkpoint(SQLITE_CHECKPOINT_TRUNCATE) }

    func checkpoint(_ mode: Int32) throws(SQLiteFailure) {
        try self.require(unsafe sqlite3_wal_checkpoint_v2(self.handle, "main", mode, nil, nil))
    }

    // MARK: Functions

    /// Makes a function with one argument available to statements and triggers of this connection; it returns NULL.
    ///
    /// - Parameter body: Called with the argument, or nil if that is no blob.
    package func addFunction(_ name: String, _ body: @escaping ([UInt8]?) -> Void) throws(SQLiteFailure) {
        let code = unsafe sqlite3_create_function_v2(
            self.handle,
            name,
            1,
            SQLITE_UTF8,
            Unmanaged.passRetained(Function(body)).toOpaque(),
            { context, _, values in
                guard let pointer = unsafe sqlite3_user_data(context) else { return }
                let function = unsafe Unmanaged<Function>.fromOpaque(pointer).takeUnretainedValue()
                guard let value = unsafe values?.pointee, unsafe sqlite3_value_type(value) == SQLITE_BLOB else {
                    return function.body(nil)
                }
                // Get the bytes before their count (sqlite3_value_blob(3)). An empty value has no address.
                let start = unsafe sqlite3_value_blob(value)
                let count = unsafe Int(sqlite3_value_bytes(value))
                function.body(unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count)))
            },
            nil,
            nil,
            { pointer in if let pointer = unsafe pointer { unsafe Unmanaged<Function>.fromOpaque(pointer).release() } }
        )
        try self.require(code)
    }

    private final class Function {
        let body: ([UInt8]?) -> Void

        init(_ body: @escaping ([UInt8]?) -> Void) { self.body = body }
    }
}

/// A value in a statement or a row.
package enum SQLiteValue: Hashable, Sendable {
    case null
    case number(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

/// A copy of a row.
package struct SQLiteRow: Hashable, Sendable {
    package let values: [SQLiteValue]

    /// Returns a number, or nil for a value of another type.
    package func numberIfAny(_ column: Int) -> Int64? {
        if case .number(let number) = self.values[column] { number } else { nil }
    }

    package func textIfAny(_ column: Int) -> String? {
        if case .text(let text) = self.values[column] { text } else { nil }
    }
}
