/// A connection to the store's database, used by one thread: PostgreSQL's (``PostgreSQLConnection``), or a simulator's.
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
    func perform(
        _ statement: String,
        _ values: [PostgreSQLValue],
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
    /// Runs one statement; see ``perform(_:_:commits:within:)``.
    package func run(
        _ statement: String,
        _ values: [PostgreSQLValue] = [],
        commits: Bool = false,
        within limit: Duration
    ) throws(PostgreSQLFailure) -> PostgreSQLRows {
        try self.perform(statement, values, commits: commits, within: limit)
    }
}

/// The reason why a statement has no result, and the state of its transaction.
package enum PostgreSQLFailure: Error, Hashable, Sendable {
    /// The server rejected the statement with this SQLSTATE, and its transaction was not committed.
    ///
    /// The connection is usable after a rollback.
    case rejected(state: String, message: String)
    /// The connection could not be opened or was lost before anything could be committed, so nothing was done.
    ///
    /// Connect again.
    case disconnected(String)
    /// The commit may have happened, perhaps on one machine only.
    ///
    /// The connection is closed, and no answer may assume either outcome.
    case outcomeUnknown(String)
}

extension PostgreSQLFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .rejected(let state, let message): "\(message) (SQLSTATE \(state))"
        case .disconnected(let reason): reason
        case .outcomeUnknown(let reason): "a commit's outcome is unknown: \(reason)"
        }
    }
}
