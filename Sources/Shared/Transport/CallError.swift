/// An error from a call that got no answer; the server may or may not have processed the call.
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
