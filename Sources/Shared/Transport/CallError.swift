/// Why a call has no answer.
///
/// Whether the server did what was asked is not known.
package enum CallError: Error, Hashable, Sendable {
    /// The connection has ended; again on a new one.
    case closed
    /// No answer in time; the connection lives, a late answer is ignored.
    case timedOut
    /// The answer cannot be read; the connection is closed.
    case malformed
    /// The calling task was cancelled; a late answer is ignored.
    case cancelled
}
