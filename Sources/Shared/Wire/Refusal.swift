package import Vocabulary

/// The reason that the peer receives for a rejected call; the server's log has details under the
/// correlation id.
package struct Refusal: Error, Hashable, Sendable {
    package var reason: Reason
    /// At most 32 characters of visible ASCII; empty if the server has none.
    package var correlationID: String

    package enum Reason: Hashable, Sendable {
        /// The message is invalid; the client has a bug.
        case malformed
        /// This server does not know the call or the instruction.
        case unsupported
        /// Open a session first.
        case sessionRequired
        /// The wallet is unknown or its proof is wrong, without distinction; the connection ends.
        case authenticationFailed
        /// The server expects another counter; no attempt was consumed.
        case outOfOrder
        /// The challenge is invalid or expired; begin the enrollment again.
        case challengeInvalid
        /// The device or app cannot register; the name of the failed check.
        case attestationRejected(String)
        /// The call is not permitted in this state.
        case notAllowed
        case revoked(Revocation)
        /// The wallet uses an older PIN key; no attempt was counted.
        case pinKeyChanged(current: PINKeyID)
        case rateLimited(retryAfter: Duration)
        /// No attempt was judged; retry the same call later.
        case unavailable(retryAfter: Duration)
        /// The server failed; the correlation id finds the cause in its log.
        case `internal`
    }

    package init(_ reason: Reason, correlationID: String = "") {
        self.reason = reason
        self.correlationID = correlationID
    }
}
