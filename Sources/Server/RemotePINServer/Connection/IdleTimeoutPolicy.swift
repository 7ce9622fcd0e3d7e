internal import Wire

/// Decides which answers restart a connection's idle timeout.
///
/// Connections are a limited resource. A client can only keep its connection open with calls that have an effect.
/// Refused calls and unknown deletion codes do not count, and neither do repeated BeginEnrollment calls, which require
/// no credentials.
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
