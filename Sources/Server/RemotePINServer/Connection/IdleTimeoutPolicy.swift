internal import Wire

/// Decides which answers restart a connection's idle timeout.
///
/// A connection is a limited resource. A client keeps its connection only by calls that have an
/// effect: not by refused calls, not by unknown deletion codes, and not by beginning enrollments
/// repeatedly, which needs no credential.
struct IdleTimeoutPolicy {
    private var hasBegunEnrollment = false

    /// Whether the answer to this call restarts the idle timeout.
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
