internal import CSQLite

/// A SQLite statement that is compiled once and run many times.
///
/// Safety invariants: SQLite keeps the connection until its last statement is gone. It is used only on the database's
/// thread, which is why it is not `Sendable`. Bound values are stored in memory that the statement owns and only
/// changes while it is not running. Results are copied or compared before the statement advances.
@safe package final class PreparedStatement {
    /// The initial capacity for a bound value, enough for an attempt record or an id.
    private static let leastByteCount = 64

    private let statement: OpaquePointer
    /// The memory for bound bytes, by parameter.
    ///
    /// SQLite reads it in place.
    private var memories: [UnsafeMutableRawBufferPointer]

    /// Compiles the first statement of `sql`.
    ///
    /// - Throws: Also if there is none.
    package init(_ sql: String, on database: SQLiteDatabase) throws(SQLiteFailure) {
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        let code = unsafe sqlite3_prepare_v3(database.handle, sql, -1, flags, &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else {
            throw database.failure(code == SQLITE_OK ? SQLITE_MISUSE : code)
        }
        unsafe self.statement = statement
        unsafe self.memories = (0..<sqlite3_bind_parameter_count(statement)).map { _ in
            .allocate(byteCount: Self.leastByteCount, alignment: 1)
        }
    }

    deinit {
        unsafe sqlite3_finalize(self.statement)
        unsafe self.memories.forEach { unsafe $0.deallocate() }
    }

    /// Binds a number to the parameter at `place`, counted from 1.
    ///
    /// It stays bound until the parameter is bound again.
    package func bind(_ number: Int64, at place: Int32) {
        let code = unsafe sqlite3_bind_int64(self.statement, place, number)
        precondition(code == SQLITE_OK, "the statement must have this parameter and must not be running")
    }

    /// Binds a copy of the bytes to the parameter at `place`, counted from 1, until it is bound again.
    package func bind(_ bytes: [UInt8], at place: Int32) {
        let index = Int(place) - 1
        let old = unsafe self.memories[index]
        if old.count < bytes.count {
            unsafe self.memories[index] = .allocate(byteCount: bytes.count, alignment: 1)
        }
        unsafe self.memories[index].copyBytes(from: bytes)
        // A null destructor is SQLITE_STATIC: the bytes stay in place until they are bound again or the statement is
        // destroyed.
        let start = unsafe self.memories[index].baseAddress
        let code = unsafe sqlite3_bind_blob(self.statement, place, start, Int32(bytes.count), nil)
        precondition(code == SQLITE_OK, "the statement must have this parameter and must not be running")
        if old.count < bytes.count { unsafe old.deallocate() }
    }

    /// Binds a value to the parameter at `place`, counted from 1, until it is bound again.
    private func bind(_ value: SQLiteValue, at place: Int32) {
        switch value {
        case .null: unsafe sqlite3_bind_null(self.statement, place)
        case .number(let number): self.bind(number, at: place)
        case .real(let number): unsafe sqlite3_bind_double(self.statement, place, number)
        case .bytes(let bytes): self.bind(bytes, at: place)
        case .text(let text):
            self.bind(Array(text.utf8), at: place)
            let bytes = unsafe self.memories[Int(place) - 1].baseAddress?.assumingMemoryBound(to: CChar.self)
            unsafe sqlite3_bind_text(self.statement, place, bytes, Int32(text.utf8.count), nil)
        }
    }

    /// Runs the statement with values for its parameters in order, and returns copies of its rows.
    package func rows(_ values: [SQLiteValue]) throws(SQLiteFailure) -> [SQLiteRow] {
        let count = unsafe Int(sqlite3_bind_parameter_count(self.statement))
        precondition(values.count == count, "a statement needs a value for each parameter")
        self.requireReset()
        for (place, value) in values.enumerated() { self.bind(value, at: Int32(place + 1)) }
        var rows: [SQLiteRow] = []
        defer { unsafe sqlite3_reset(self.statement) }
        while let row = try self.step() { rows.append(row.copy()) }
        return rows
    }

    /// Runs the statement and calls `read` with each row; afterwards, the statement can be run again, even if it fails.
    package func forEachRow(_ read: (borrowing PreparedRow) throws -> Void) throws {
        self.requireReset()
        // The return value only repeats an error that stepping has already reported.
        defer { unsafe sqlite3_reset(self.statement) }
        while let row = try self.step() { try read(row) }
    }

    /// Runs the statement and passes its first row to `read`; returns nil if there are no rows.
    ///
    /// - Throws: ``SQLiteFailure``, or an error thrown by `read`. In either case, the statement can be run again.
    package func first<Value>(_ read: (borrowing PreparedRow) throws -> Value) throws -> Value? {
        defer { unsafe sqlite3_reset(self.statement) }
        guard let row = try self.step() else { return nil }
        return try read(row)
    }

    /// Runs a statement that returns no rows; returns the number of rows that it changed, added or removed.
    ///
    /// The statement can be run again afterwards, even if it fails.
    @discardableResult
    package func run() throws(SQLiteFailure) -> Int {
        defer { unsafe sqlite3_reset(self.statement) }
        _ = try self.step()
        return unsafe Int(sqlite3_changes(sqlite3_db_handle(self.statement)))
    }

    /// The same statement must not be run again by a function that reads its rows.
    private func requireReset() {
        precondition(unsafe sqlite3_stmt_busy(self.statement) == 0, "the statement is running")
    }

    /// Advances to the next row.
    private func step() throws(SQLiteFailure) -> PreparedRow? {
        switch unsafe sqlite3_step(self.statement) {
        case SQLITE_ROW: unsafe PreparedRow(self.statement)
        case SQLITE_DONE: nil
        case let code: throw unsafe SQLiteFailure(code, of: sqlite3_db_handle(self.statement))
        }
    }
}

/// The current row of a running statement.
///
/// Only valid until the statement advances.
@safe package struct PreparedRow: ~Copyable {
    private let statement: OpaquePointer

    init(_ statement: OpaquePointer) {
        unsafe self.statement = statement
    }

    /// The value of an integer column, or nil if the column has another type.
    package func number(_ column: Int32) -> Int64? {
        guard unsafe sqlite3_column_type(self.statement, column) == SQLITE_INTEGER else { return nil }
        return unsafe sqlite3_column_int64(self.statement, column)
    }

    /// A copy of the bytes in the column, or nil if the column has another type.
    package func bytes(_ column: Int32) -> [UInt8]? {
        unsafe self.withBytes(column) { unsafe [UInt8]($0) }
    }

    /// A copy of the text in the column, or nil if the column has another type.
    package func text(_ column: Int32) -> String? {
        guard unsafe sqlite3_column_type(self.statement, column) == SQLITE_TEXT else { return nil }
        // Get the text before its length (sqlite3_column_blob(3)).
        let start = unsafe sqlite3_column_text(self.statement, column)
        let count = unsafe Int(sqlite3_column_bytes(self.statement, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Returns whether the column is NULL.
    package func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(self.statement, column) == SQLITE_NULL
    }

    /// Copies the row.
    borrowing func copy() -> SQLiteRow {
        let count = unsafe sqlite3_column_count(self.statement)
        return SQLiteRow(
            values: (0..<count).map { column in
                switch unsafe sqlite3_column_type(self.statement, column) {
                case SQLITE_INTEGER: .number(unsafe sqlite3_column_int64(self.statement, column))
                case SQLITE_FLOAT: .real(unsafe sqlite3_column_double(self.statement, column))
                case SQLITE_TEXT: .text(self.text(column) ?? "")
                case SQLITE_BLOB: .bytes(self.bytes(column) ?? [])
                default: .null
                }
            }
        )
    }

    private func withBytes<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        guard unsafe sqlite3_column_type(self.statement, column) == SQLITE_BLOB else { return nil }
        // Get the bytes before their count (sqlite3_column_blob(3)). An empty value has no address.
        let start = unsafe sqlite3_column_blob(self.statement, column)
        let count = unsafe Int(sqlite3_column_bytes(self.statement, column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: count))
    }
}
