internal import CPostgreSQL

/// The rows of a result, in PostgreSQL's binary format.
///
/// Safety invariant: the value owns the result, and everything that leaves it is a copy.
@safe package final class PostgreSQLRows {
    /// Nil if a simulator made the rows.
    private let result: OpaquePointer?
    private let simulated: SimulatedRows

    /// Takes ownership of a result.
    init(takingOwnershipOf result: OpaquePointer) {
        unsafe self.result = result
        self.simulated = SimulatedRows()
    }

    /// The rows of a simulated database.
    package init(_ simulated: SimulatedRows) {
        unsafe self.result = nil
        self.simulated = simulated
    }

    deinit { unsafe PQclear(self.result) }

    package var count: Int {
        guard let result = unsafe self.result else { return self.simulated.rows.count }
        return unsafe Int(PQntuples(result))
    }

    /// The command that was carried out, such as `COMMIT`.
    ///
    /// A transaction that failed earlier answers with `ROLLBACK`.
    package var command: String {
        guard let result = unsafe self.result else { return self.simulated.command }
        guard let status = unsafe PQcmdStatus(result) else { return "" }
        return unsafe String(cString: status)
    }

    /// The number of rows that the statement changed.
    package var changed: Int {
        guard let result = unsafe self.result else { return self.simulated.changed }
        guard let count = unsafe PQcmdTuples(result) else { return 0 }
        return unsafe Int(String(cString: count)) ?? 0
    }

    /// A copy of the bytes of a field, or nil for NULL.
    package func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
        guard let result = unsafe self.result else { return self.simulated.bytes(row, column) }
        let (row, column) = (Int32(row), Int32(column))
        guard unsafe PQgetisnull(result, row, column) == 0, let start = unsafe PQgetvalue(result, row, column)
        else { return nil }
        let count = unsafe Int(PQgetlength(result, row, column))
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

/// The result of a statement of a simulated database.
package struct SimulatedRows: Sendable {
    package var rows: [[PostgreSQLValue]]
    package var changed: Int
    package var command: String

    package init(_ rows: [[PostgreSQLValue]] = [], changed: Int = 0, command: String = "") {
        (self.rows, self.changed, self.command) = (rows, changed, command)
    }

    /// A field in PostgreSQL's binary format, nil for NULL and for a field that does not exist.
    fileprivate func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
        guard self.rows.indices.contains(row), self.rows[row].indices.contains(column) else { return nil }
        var bytes: [UInt8] = []
        return self.rows[row][column].write(to: &bytes).map { _ in bytes }
    }
}

/// A parameter of a statement, sent in PostgreSQL's binary format.
package enum PostgreSQLValue: Sendable {
    case null
    case bytes([UInt8])
    case text(String)
    case number(Int64)
    case flag(Bool)
    /// An array of `bytea`.
    case byteArrays([[UInt8]])

    /// The type `bytea` in pg_type.
    private static let byteaType: Int = 17

    /// Appends the value and returns its number of bytes, or nil for NULL.
    func write(to buffer: inout [UInt8]) -> Int? {
        let start = buffer.count
        switch self {
        case .null: return nil
        case .bytes(let bytes): buffer.append(contentsOf: bytes)
        case .text(let text): buffer.append(contentsOf: text.utf8)
        case .number(let number): Self.append(UInt64(bitPattern: number), byteCount: 8, to: &buffer)
        case .flag(let flag): buffer.append(flag ? 1 : 0)
        case .byteArrays(let elements):
            // The number of dimensions, whether an element is NULL, the type, and the dimension's length and first
            // index.
            for field in elements.isEmpty ? [0, 0, Self.byteaType] : [1, 0, Self.byteaType, elements.count, 1] {
                Self.append(UInt64(field), byteCount: 4, to: &buffer)
            }
            for element in elements {
                Self.append(UInt64(element.count), byteCount: 4, to: &buffer)
                buffer.append(contentsOf: element)
            }
        }
        return buffer.count - start
    }

    private static func append(_ number: UInt64, byteCount: Int, to buffer: inout [UInt8]) {
        for place in (0..<byteCount).reversed() {
            buffer.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * place)))
        }
    }
}
