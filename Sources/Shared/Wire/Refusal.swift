package import Vocabulary

/// The reason sent to the peer when a call is rejected.
///
/// The details are in the server's log, under the correlation id.
package struct Refusal: Error, Hashable, Sendable {
    package var reason: Reason
    /// At most 32 characters of visible ASCII; empty if there is none.
    package var correlationID: String

    package enum Reason: Hashable, Sendable {
        /// The message is invalid, which means that the client has a bug.
        case malformed
        /// The call or the instruction is unknown to this server.
        case unsupported
        /// The client must open a session first.
        case sessionRequired
        /// The wallet is unknown or its proof is wrong; the client cannot tell which. The connection is closed.
        case authenticationFailed
        /// The server expected a different counter. No attempt was consumed.
        case outOfOrder
        /// The challenge is invalid or expired; start the enrollment again.
        case challengeInvalid
        /// The device or app cannot register; the name of the failed check.
        case attestationRejected(String)
        /// The call is not permitted in this state.
        case notAllowed
        case revoked(Revocation)
        /// The wallet used an older PIN key. No attempt was counted.
        case pinKeyChanged(current: PINKeyID)
        case rateLimited(retryAfter: Duration)
        /// No attempt was judged; retry the same call later.
        case unavailable(retryAfter: Duration)
        /// The server failed. The cause can be found in its log using the correlation id.
        case `internal`
    }

    package init(_ reason: Reason, correlationID: String = "") {
        self.reason = reason
        self.correlationID = correlationID
    }
}
