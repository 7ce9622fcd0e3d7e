package import GRDB
internal import GRDBSQLite

/// One statement of SQLite's, compiled once and run over and over.
///
/// For the few statements that every session and every check of a PIN run: GRDB's own cost several times what SQLite does in them, for
/// observers, names and rows that nobody asks for (docs/performance.md). Everything else stays with GRDB, which also
/// opens, configures and closes the connection.
///
/// Invariants that make it safe: the statement keeps its database alive; it is used on the thread that has the database
/// and no other, which is why it is not `Sendable`; what it binds lies in memory of its own, which is changed only where it
/// does not run, and outlives it; what it reads is copied out, or compared, before the statement goes on.
@safe package final class PreparedStatement {
    /// As much as an attempt record or an id takes, and more.
    private static let leastByteCount = 64

    /// Only to keep the connection open: SQLite lets go of it with its last statement.
    private let database: Database
    private let statement: OpaquePointer
    /// This statement's own memory for the bytes that are bound, by place; SQLite reads them there.
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

    /// Sets the parameter of this place, counted from 1, until it is set again.
    package func bind(_ number: Int64, at place: Int32) {
        let code = unsafe sqlite3_bind_int64(self.statement, place, number)
        precondition(code == SQLITE_OK, "the statement has such a parameter and is not running")
    }

    /// Sets the parameter of this place, counted from 1, to a copy of the bytes, until it is set again.
    package func bind(_ bytes: [UInt8], at place: Int32) {
        let index = Int(place) - 1
        let old = unsafe self.memories[index]
        if old.count < bytes.count {
            unsafe self.memories[index] = .allocate(byteCount: bytes.count, alignment: 1)
        }
        unsafe self.memories[index].copyBytes(from: bytes)
        // No destructor is SQLITE_STATIC: the bytes stay there until this parameter is set again or there is no statement.
        let start = unsafe self.memories[index].baseAddress
        let code = unsafe sqlite3_bind_blob(self.statement, place, start, Int32(bytes.count), nil)
        precondition(code == SQLITE_OK, "the statement has such a parameter and is not running")
        if old.count < bytes.count { unsafe old.deallocate() }
    }

    /// Runs the statement and lends its first row to `read`; nil where there is none.
    ///
    /// - Throws: `DatabaseError`, or what `read` throws; the statement can be run again in either case.
    package func first<Value>(_ read: (borrowing PreparedRow) throws -> Value) throws -> Value? {
        // What it returns is the error that stepping has reported already.
        defer { unsafe sqlite3_reset(self.statement) }
        switch unsafe sqlite3_step(self.statement) {
        case SQLITE_ROW: return try read(unsafe PreparedRow(self.statement))
        case SQLITE_DONE: return nil
        case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
    }

    /// Runs the statement and lends each of its rows to `read`.
    ///
    /// - Throws: `DatabaseError`, or what `read` throws; the statement can be run again in either case.
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

    /// Runs a statement that has no rows.
    ///
    /// - Throws: `DatabaseError`; the statement can be run again.
    package func run() throws {
        _ = try self.first { _ in }
    }

    /// Runs a statement that has no rows; how many rows of its table it changed, added or removed.
    ///
    /// - Throws: `DatabaseError`; the statement can be run again.
    package func change() throws -> Int {
        try self.run()
        return unsafe Int(sqlite3_changes(sqlite3_db_handle(self.statement)))
    }
}

/// The row at which a statement stands; lent for as long as it does.
@safe package struct PreparedRow: ~Copyable {
    private let statement: OpaquePointer

    fileprivate init(_ statement: OpaquePointer) {
        unsafe self.statement = statement
    }

    /// A whole number; nil where the column holds anything else.
    package func number(_ column: Int32) -> Int64? {
        guard unsafe sqlite3_column_type(self.statement, column) == SQLITE_INTEGER else { return nil }
        return unsafe sqlite3_column_int64(self.statement, column)
    }

    /// A copy of the bytes; nil where the column holds anything else.
    package func bytes(_ column: Int32) -> [UInt8]? {
        unsafe self.withBytes(column) { unsafe [UInt8]($0) }
    }

    /// Whether the column holds nothing.
    package func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(self.statement, column) == SQLITE_NULL
    }

    private func withBytes<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        guard unsafe sqlite3_column_type(self.statement, column) == SQLITE_BLOB else { return nil }
        // The bytes first, their number second (sqlite3_column_blob(3)); an empty one has no address.
        let start = unsafe sqlite3_column_blob(self.statement, column)
        let count = unsafe Int(sqlite3_column_bytes(self.statement, column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: count))
    }
}
