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
