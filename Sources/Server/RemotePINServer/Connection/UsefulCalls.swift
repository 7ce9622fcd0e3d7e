internal import Wire

/// Which answers keep a connection from being idle.
///
/// A client holds one of a limited number of connections. Whatever it sends, it keeps it only by calls that did
/// something: none that was refused, no deletion code that nobody has, and no enrollment begun again and again, for which
/// nothing is needed.
struct UsefulCalls {
    private var hasBegunEnrollment = false

    /// Whether the answer to this call begins the idle time anew.
    mutating func counts(_ call: Call, _ result: CallResult) -> Bool {
        switch result {
        case .refused, .revokeWithCode(.notRecognised):
            return false
        case .beginEnrollment:
            defer { self.hasBegunEnrollment = true }
            return !self.hasBegunEnrollment
        case .register:
            self.hasBegunEnrollment = false
            return true
        case .hello, .openSession, .instruct, .revokeWithCode, .reportWipe:
            return true
        }
    }
}
