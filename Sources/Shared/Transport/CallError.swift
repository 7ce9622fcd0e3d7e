/// The reason that a call has no answer; the server may or may not have processed it.
package enum CallError: Error, Hashable, Sendable {
    /// The connection has ended; retry on a new one.
    case closed
    /// The answer did not arrive in time. The connection stays open, and a late answer is ignored.
    case timedOut
    /// The answer is not valid; the connection is closed.
    case malformed
    /// The calling task was cancelled; a late answer is ignored.
    case cancelled
}
