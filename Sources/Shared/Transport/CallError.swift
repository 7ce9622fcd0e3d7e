/// An error from a call that was not answered.
///
/// The server may or may not have processed the call.
package enum CallError: Error, Hashable, Sendable {
    /// The connection has ended.
    ///
    /// Retry on a new one.
    case closed
    /// The answer did not arrive in time. The connection stays open, and a late answer is ignored.
    case timedOut
    /// The answer is invalid, and the connection has been closed.
    case malformed
    /// The calling task was cancelled.
    ///
    /// A late answer is ignored.
    case cancelled
}
