internal import CPostgreSQL

/// The rows of a result, in PostgreSQL's binary format.
///
/// Safety invariant: the value owns the result, and everything that leaves it is a copy.
@safe package final class PostgreSQLRows {
    private let result: OpaquePointer

    /// Takes ownership of a result.
    init(takingOwnershipOf result: OpaquePointer) {
        unsafe self.result = result
    }

    deinit {
        unsafe PQclear(self.result)
    }

    package var count: Int { unsafe Int(PQntuples(self.result)) }

    /// The command that was carried out, such as `COMMIT`.
    ///
    /// A transaction that failed earlier answers with `ROLLBACK`.
    package var command: String {
        guard let status = unsafe PQcmdStatus(self.result) else { return "" }
        return unsafe String(cString: status)
    }

    /// The number of rows that the statement changed.
    package var changed: Int {
        guard let count = unsafe PQcmdTuples(self.result) else { return 0 }
        return unsafe Int(String(cString: count)) ?? 0
    }

    /// A copy of the bytes of a field, or nil for NULL.
    package func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
        let (row, column) = (Int32(row), Int32(column))
        guard unsafe PQgetisnull(self.result, row, column) == 0,
            let start = unsafe PQgetvalue(self.result, row, column)
        else { return nil }
        let count = unsafe Int(PQgetlength(self.result, row, column))
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    /// A `bigint`, or nil for NULL and for other types.
    package func number(_ row: Int, _ column: Int) -> Int64? {
        guard let bytes = self.bytes(row, column), bytes.count == 8 else { return nil }
        return Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// A text, or nil for NULL.
    package func text(_ row: Int, _ column: Int) -> String? {
        self.bytes(row, column).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// A `boolean`, or nil for NULL and for other types.
    package func flag(_ row: Int, _ column: Int) -> Bool? {
        guard let bytes = self.bytes(row, column), bytes.count == 1 else { return nil }
        return bytes[0] != 0
    }

    /// Whether the statement was carried out.
    var isDone: Bool {
        let status = unsafe PQresultStatus(self.result)
        return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
    }

    /// The server's reason for a rejection, or nil if the server did not send one or closes the connection with it.
    var rejection: PostgreSQLFailure? {
        let severity = self.field(CPostgreSQL_PG_DIAG_SEVERITY_NONLOCALIZED())
        guard severity == "ERROR", let state = self.field(CPostgreSQL_PG_DIAG_SQLSTATE()) else { return nil }
        // The primary message names objects of the schema. Its details, which could hold values, are left out.
        return .rejected(state: state, message: self.field(CPostgreSQL_PG_DIAG_MESSAGE_PRIMARY()) ?? "")
    }

    private func field(_ code: Int32) -> String? {
        guard let text = unsafe PQresultErrorField(self.result, code) else { return nil }
        return unsafe String(cString: text)
    }
}
