internal import Wire

/// Decides which answers restart the idle timeout of a connection.
///
/// Connections are a limited resource. A client can only keep its connection open with calls that have an effect:
/// refused calls, unknown deletion codes, and repeated BeginEnrollment calls, which need no credentials, do not count.
struct IdleTimeoutPolicy {
    private var hasBegunEnrollment = false

    /// Returns whether the answer to this call restarts the idle timeout.
    mutating func isReset(by call: Call, _ result: CallResult) -> Bool {
        switch result {
        case .refused, .revokeWithCode(.notRecognised):
            return false
        case .beginEnrollment:
            defer { self.hasBegunEnrollment = true }
            return !self.hasBegunEnrollment
        case .register:
            self.hasBegunEnrollment = false
            return true
        case .hello, .openSession, .instruct, .judged, .revokeWithCode, .reportWipe, .confirmShares:
            return true
        }
    }
}
