/// The reason why a statement has no result, and the state of its transaction.
package enum PostgreSQLFailure: Error, Hashable, Sendable {
    /// The server rejected the statement, with this SQLSTATE: its transaction is not done. The connection is usable
    /// after a rollback.
    case rejected(state: String, message: String)
    /// There is no connection, or it was lost before anything could be committed: nothing is done. Connect again.
    case disconnected(String)
    /// The statement that commits may be done, or is done on one machine only. The connection is closed; no answer
    /// may rest on either outcome.
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
