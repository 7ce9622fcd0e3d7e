internal import CPKCS11

/// A failed call of a module.
package struct TokenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reaction to a return value of the module.
    package enum Reaction: Hashable, Sendable {
        /// A session, the login or a handle is gone: open, log in and find again, then repeat once.
        case renew
        /// The module or the token does not work now: answer `failed`, and try again later.
        case later
        /// The PIN is rejected. Modules lock after a few attempts, so this process must make no further one.
        case endProcess
        /// The token allows no further session: serve with those that are open.
        case serveWithFewer
    }

    /// The function of the module, such as `C_Sign`.
    package let function: String
    /// The value that it returned.
    package let code: UInt

    package var reaction: Reaction { Self.known[self.code]?.reaction ?? .later }

    package var description: String {
        let digits = "0x\(String(self.code, radix: 16))"
        return "\(self.function) returned \(Self.known[self.code].map { "\($0.name) (\(digits))" } ?? digits)"
    }

    /// The return values that need a reaction other than a later attempt, or that operators meet.
    private static let known: [UInt: (name: String, reaction: Reaction)] = [
        CKR_SESSION_HANDLE_INVALID: ("CKR_SESSION_HANDLE_INVALID", .renew),
        CKR_SESSION_CLOSED: ("CKR_SESSION_CLOSED", .renew),
        CKR_USER_NOT_LOGGED_IN: ("CKR_USER_NOT_LOGGED_IN", .renew),
        CKR_KEY_HANDLE_INVALID: ("CKR_KEY_HANDLE_INVALID", .renew),
        // SoftHSM returns it from the moment that its token's directory was away, even after it is back.
        CKR_OBJECT_HANDLE_INVALID: ("CKR_OBJECT_HANDLE_INVALID", .renew),
        CKR_DEVICE_ERROR: ("CKR_DEVICE_ERROR", .later),
        CKR_DEVICE_REMOVED: ("CKR_DEVICE_REMOVED", .later),
        CKR_TOKEN_NOT_PRESENT: ("CKR_TOKEN_NOT_PRESENT", .later),
        // SoftHSM returns either of the next two if two processes start at once.
        CKR_TOKEN_NOT_RECOGNIZED: ("CKR_TOKEN_NOT_RECOGNIZED", .later),
        CKR_GENERAL_ERROR: ("CKR_GENERAL_ERROR", .later),
        CKR_FUNCTION_FAILED: ("CKR_FUNCTION_FAILED", .later),
        CKR_CRYPTOKI_NOT_INITIALIZED: ("CKR_CRYPTOKI_NOT_INITIALIZED", .later),
        CKR_PIN_INCORRECT: ("CKR_PIN_INCORRECT", .endProcess),
        CKR_PIN_INVALID: ("CKR_PIN_INVALID", .endProcess),
        CKR_PIN_LEN_RANGE: ("CKR_PIN_LEN_RANGE", .endProcess),
        CKR_PIN_EXPIRED: ("CKR_PIN_EXPIRED", .endProcess),
        CKR_PIN_LOCKED: ("CKR_PIN_LOCKED", .endProcess),
        CKR_USER_PIN_NOT_INITIALIZED: ("CKR_USER_PIN_NOT_INITIALIZED", .endProcess),
        CKR_SESSION_COUNT: ("CKR_SESSION_COUNT", .serveWithFewer),
        CKR_MECHANISM_INVALID: ("CKR_MECHANISM_INVALID", .later),
    ]
}
