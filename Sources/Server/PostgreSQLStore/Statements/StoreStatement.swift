package import PostgreSQLClient
package import WalletStore

/// A statement of the store, with its values.
///
/// PostgreSQL runs its text. A simulated database carries out the case itself, so each case that a simulated run uses
/// has typed values.
package enum StoreStatement: Sendable {
    case session(SessionStatement)
    case facts(FactStatement)
    case wallet(WalletStatement)
    case find(FindStatement)
    case judge(JudgingStatement)
    case server(ServerStatement)
    case lease(LeaseStatement)
    case side(SideStatement, [ColumnValue])
    /// A statement that no simulated run uses.
    case sql(String, [PostgreSQLValue])

    /// The text, and the values of `$1`, `$2` and so on.
    var sql: (text: String, values: [PostgreSQLValue]) {
        switch self {
        case .session(let statement): statement.sql
        case .facts(let statement): statement.sql
        case .wallet(let statement): statement.sql
        case .find(let statement): statement.sql
        case .judge(let statement): statement.sql
        case .server(let statement): statement.sql
        case .lease(let statement): statement.sql
        case .side(let statement, let values): (statement.text, values.map(PostgreSQLValue.init))
        case .sql(let text, let values): (text, values)
        }
    }
}

/// A connection to the store's database, used by one thread: PostgreSQL's, or a simulator's.
///
/// It blocks the thread that uses it, but never longer than the time limit of a call.
package protocol DatabaseConnection: AnyObject {
    /// False once the connection is lost or closed.
    var isOpen: Bool { get }

    /// Closes the connection without waiting for the server.
    func close()

    /// Runs one statement.
    ///
    /// - Parameter commits: True if the statement ends with a commit: `COMMIT`, or a change outside a transaction. If
    ///   its answer is missing, is late, or comes with a notice, the outcome is unknown.
    func run(
        _ statement: StoreStatement,
        commits: Bool,
        within limit: Duration
    ) throws(PostgreSQLFailure) -> PostgreSQLRows

    /// Waits until the database notifies this connection (`listen`), `pipe` is woken, or the time is over; returns the
    /// notified channels.
    func notifications(
        orWoken pipe: WakePipe,
        until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLFailure) -> Set<String>
}

extension DatabaseConnection {
    /// Runs a statement that commits nothing.
    func run(_ statement: StoreStatement, within limit: Duration) throws(PostgreSQLFailure) -> PostgreSQLRows {
        try self.run(statement, commits: false, within: limit)
    }
}

extension PostgreSQLConnection: DatabaseConnection {
    package func run(
        _ statement: StoreStatement,
        commits: Bool,
        within limit: Duration
    ) throws(PostgreSQLFailure) -> PostgreSQLRows {
        let (text, values) = statement.sql
        return try self.run(text, values, commits: commits, within: limit)
    }
}

extension PostgreSQLValue {
    init(_ value: ColumnValue) {
        switch value {
        case .null: self = .null
        case .number(let number): self = .number(number)
        case .text(let text): self = .text(text)
        case .bytes(let bytes): self = .bytes(bytes)
        }
    }

    /// A value, or NULL.
    init(_ bytes: [UInt8]?) { self = bytes.map { .bytes($0) } ?? .null }
    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    init(_ number: Int64?) { self = number.map { .number($0) } ?? .null }
}
