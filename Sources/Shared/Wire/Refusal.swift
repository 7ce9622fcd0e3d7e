package import Vocabulary

/// Why a call was not done, as the peer learns it; the server's log knows more under the same correlation id.
package struct Refusal: Error, Hashable, Sendable {
    package var reason: Reason
    /// At most 32 characters of visible ASCII; empty where the server had none to give.
    package var correlationID: String

    package enum Reason: Hashable, Sendable {
        /// Not the message; mend the client.
        case malformed
        /// A call or instruction that this server does not know.
        case unsupported
        /// Open a session first.
        case sessionRequired
        /// Unknown wallet or wrong proof; the connection ends. Which of the two is not said.
        case authenticationFailed
        /// Another counter is expected; nothing was consumed.
        case outOfOrder
        /// Begin the enrollment again.
        case challengeInvalid
        /// This device or app cannot register; the name of the check that failed.
        case attestationRejected(String)
        /// Not in this state.
        case notAllowed
        case revoked(Revocation)
        /// The wallet knows an older PIN key; nothing was counted.
        case pinKeyChanged(current: PINKeyID)
        case rateLimited(retryAfter: Duration)
        /// No verdict and nothing judged; the same again later.
        case unavailable(retryAfter: Duration)
        /// Quote the correlation id.
        case `internal`
    }

    package init(_ reason: Reason, correlationID: String = "") {
        self.reason = reason
        self.correlationID = correlationID
    }
}
