package import GRDB
internal import GRDBSQLite

/// A SQLite statement, compiled once and run many times.
///
/// It serves the few statements that every session and every PIN check run. GRDB's own work for them (observers, column
/// names, rows) costs several times as much as SQLite's (Benchmarks/experiments.md). GRDB opens, configures and closes
/// the connection and runs all other statements.
///
/// Safety invariants: the statement keeps its database alive; it is used only on the database's thread, which is
/// why it is not `Sendable`; bound values are in memory that the statement owns and changes only while it is not
/// running; results are copied or compared before the statement advances.
@safe package final class PreparedStatement {
    /// The initial capacity of a bound value; larger than an attempt record or an id.
    private static let leastByteCount = 64

    /// Keeps the connection open: SQLite closes it with its last statement.
    private let database: Database
    private let statement: OpaquePointer
    /// Memory for bound bytes, by parameter; SQLite reads them in place.
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

    /// Binds a number to the parameter at `place`, counted from 1, until it is bound again.
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
        // A null destructor is SQLITE_STATIC: the bytes stay in place until they are bound again or the statement
        // ends.
        let start = unsafe self.memories[index].baseAddress
        let code = unsafe sqlite3_bind_blob(self.statement, place, start, Int32(bytes.count), nil)
        precondition(code == SQLITE_OK, "the statement must have this parameter and must not be running")
        if old.count < bytes.count { unsafe old.deallocate() }
    }

    /// Runs the statement and lends its first row to `read`; returns nil if there is none.
    ///
    /// - Throws: `DatabaseError`, or an error of `read`; the statement can be run again in either case.
    package func first<Value>(_ read: (borrowing PreparedRow) throws -> Value) throws -> Value? {
        // Its result repeats an error that stepping has already reported.
        defer { unsafe sqlite3_reset(self.statement) }
        switch unsafe sqlite3_step(self.statement) {
        case SQLITE_ROW: return try read(unsafe PreparedRow(self.statement))
        case SQLITE_DONE: return nil
        case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
    }

    /// Runs the statement and lends each of its rows to `read`.
    ///
    /// - Throws: `DatabaseError`, or an error of `read`; the statement can be run again in either case.
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

    /// Runs a statement without rows.
    ///
    /// - Throws: `DatabaseError`; the statement can be run again.
    package func run() throws {
        _ = try self.first { _ in }
    }

    /// Runs a statement without rows and returns the number of table rows that it changed, added or removed.
    ///
    /// - Throws: `DatabaseError`; the statement can be run again.
    package func change() throws -> Int {
        try self.run()
        return unsafe Int(sqlite3_changes(sqlite3_db_handle(self.statement)))
    }
}

/// The current row of a running statement, valid until the statement advances.
@safe package struct PreparedRow: ~Copyable {
    private let statement: OpaquePointer

    fileprivate init(_ statement: OpaquePointer) {
        unsafe self.statement = statement
    }

    /// An integer, or nil if the column holds another type.
    package func number(_ column: Int32) -> Int64? {
        guard unsafe sqlite3_column_type(self.statement, column) == SQLITE_INTEGER else { return nil }
        return unsafe sqlite3_column_int64(self.statement, column)
    }

    /// A copy of the bytes, or nil if the column holds another type.
    package func bytes(_ column: Int32) -> [UInt8]? {
        unsafe self.withBytes(column) { unsafe [UInt8]($0) }
    }

    /// Returns whether the column is NULL.
    package func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(self.statement, column) == SQLITE_NULL
    }

    private func withBytes<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        guard unsafe sqlite3_column_type(self.statement, column) == SQLITE_BLOB else { return nil }
        // Reads the bytes before their count (sqlite3_column_blob(3)); an empty value has no address.
        let start = unsafe sqlite3_column_blob(self.statement, column)
        let count = unsafe Int(sqlite3_column_bytes(self.statement, column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: count))
    }
}
