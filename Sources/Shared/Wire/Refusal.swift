package import Vocabulary

/// The response to a call that was rejected.
///
/// The details are in the server's log, under the correlation id.
package struct Refusal: Error, Hashable, Sendable {
    package var reason: Reason
    /// The correlation id, which has at most 32 visible ASCII characters, or an empty string if there is none.
    package var correlationID: String

    package enum Reason: Hashable, Sendable {
        /// The message is malformed, which means that the client has a bug.
        case malformed
        /// The call or the instruction is not supported by this server.
        case unsupported
        /// The client must open a session first.
        case sessionRequired
        /// The wallet is unknown or its proof is wrong.
        ///
        /// The client cannot tell which. The connection is closed.
        case authenticationFailed
        /// The server expected a different counter. No attempt was consumed.
        case outOfOrder
        /// The challenge is invalid or has expired.
        ///
        /// Start the enrollment again.
        case challengeInvalid
        /// The device or app is not allowed to register.
        ///
        /// The associated value is the name of the failed check.
        case attestationRejected(String)
        /// The call is not permitted in the current state.
        case notAllowed
        case revoked(Revocation)
        /// The wallet used an older PIN key. No attempt was counted.
        case pinKeyChanged(current: PINKeyID)
        case rateLimited(retryAfter: Duration)
        /// No attempt was judged.
        ///
        /// Retry the same call later.
        case unavailable(retryAfter: Duration)
        /// The server has failed.
        ///
        /// The correlation id helps to find the cause in the server's log.
        case `internal`
    }

    package init(_ reason: Reason, correlationID: String = "") {
        self.reason = reason
        self.correlationID = correlationID
    }
}

extension Refusal {
    /// The kind of a reason, with its name in docs/protocol.md.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        case malformed, unsupported
        case sessionRequired = "session-required"
        case authenticationFailed = "authentication-failed"
        case outOfOrder = "out-of-order"
        case challengeInvalid = "challenge-invalid"
        case attestationRejected = "attestation-rejected"
        case notAllowed = "not-allowed"
        case revoked
        case pinKeyChanged = "pin-key-changed"
        case rateLimited = "rate-limited"
        case unavailable, `internal`
    }
}

extension Refusal.Reason {
    package var code: Refusal.Code {
        switch self {
        case .malformed: .malformed
        case .unsupported: .unsupported
        case .sessionRequired: .sessionRequired
        case .authenticationFailed: .authenticationFailed
        case .outOfOrder: .outOfOrder
        case .challengeInvalid: .challengeInvalid
        case .attestationRejected: .attestationRejected
        case .notAllowed: .notAllowed
        case .revoked: .revoked
        case .pinKeyChanged: .pinKeyChanged
        case .rateLimited: .rateLimited
        case .unavailable: .unavailable
        case .internal: .internal
        }
    }
}
