package import GRDB
internal import GRDBSQLite

/// A SQLite statement that is compiled once and run many times.
///
/// It is meant for the few statements that run in every session and every PIN check. For these, GRDB's overhead
/// (observers, column names, rows) costs more than SQLite itself. GRDB still opens, configures and closes the
/// connection, and runs all other statements.
///
/// Safety invariants: The statement keeps its database alive. It is used only on the database's thread, which is why it
/// is not `Sendable`. Bound values are stored in memory that the statement owns and only changes while it is not
/// running. Results are copied or compared before the statement advances.
@safe package final class PreparedStatement {
    /// The initial capacity for a bound value, enough for an attempt record or an id.
    private static let leastByteCount = 64

    /// Keeps the connection open, since SQLite closes it along with its last statement.
    private let database: Database
    private let statement: OpaquePointer
    /// The memory for bound bytes, by parameter.
    ///
    /// SQLite reads it in place.
    private var memories: [UnsafeMutableRawBufferPointer]

    /// Compiles the first statement of `sql`.
    ///
    /// - Throws: `DatabaseError`.
    package init(_ sql: String, on database: Database) throws {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            database.sqliteConnection,
            sql,
            -1,
            UInt32(SQLITE_PREPARE_PERSISTENT),
            &statement,
            nil
        )
        guard code == SQLITE_OK, let statement = unsafe statement else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
        self.database = database
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

    /// Runs the statement and passes its first row to `read`; returns nil if there are no rows.
    ///
    /// - Throws: `DatabaseError`, or an error thrown by `read`. In either case, the statement can be run again.
    package func first<Value>(_ read: (borrowing PreparedRow) throws -> Value) throws -> Value? {
        // The return value only repeats an error that stepping has already reported.
        defer { unsafe sqlite3_reset(self.statement) }
        switch unsafe sqlite3_step(self.statement) {
        case SQLITE_ROW: return try read(unsafe PreparedRow(self.statement))
        case SQLITE_DONE: return nil
        case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
    }

    /// Runs the statement and passes each row to `read`.
    ///
    /// - Throws: `DatabaseError`, or an error thrown by `read`. In either case, the statement can be run again.
    package func all<Value>(_ read: (borrowing PreparedRow) throws -> Value) throws -> [Value] {
        defer { unsafe sqlite3_reset(self.statement) }
        var values: [Value] = []
        while true {
            switch unsafe sqlite3_step(self.statement) {
            case SQLITE_ROW: values.append(try read(unsafe PreparedRow(self.statement)))
            case SQLITE_DONE: return values
            case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
            }
        }
    }

    /// Runs a statement that returns no rows.
    ///
    /// - Throws: `DatabaseError`. The statement can be run again afterwards.
    package func run() throws {
        _ = try self.first { _ in }
    }

    /// Runs a statement that returns no rows; returns the number of rows that it changed, added or removed.
    ///
    /// - Throws: `DatabaseError`. The statement can be run again afterwards.
    package func change() throws -> Int {
        try self.run()
        return unsafe Int(sqlite3_changes(sqlite3_db_handle(self.statement)))
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
        return unsafe sqlite3_column_text(self.statement, column).map { unsafe String(cString: $0) }
    }

    /// Returns whether the column is NULL.
    package func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(self.statement, column) == SQLITE_NULL
    }

    private func withBytes<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        guard unsafe sqlite3_column_type(self.statement, column) == SQLITE_BLOB else { return nil }
        // Get the bytes before their count (sqlite3_column_blob(3)). An empty value has no address.
        let start = unsafe sqlite3_column_blob(self.statement, column)
        let count = unsafe Int(sqlite3_column_bytes(self.statement, column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: count))
    }
}
