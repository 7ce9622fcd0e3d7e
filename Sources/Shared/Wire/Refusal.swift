internal import RemotePINProto
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

extension Refusal {
    /// The maximum length of a correlation id, in characters.
    package static let longestCorrelationID = 32
    /// The maximum length of the name of a failed check, in characters.
    package static let longestReason = 64

    func write(to message: MessageWriter<Remotepin__V1__Error>) {
        message.set(\.code, self.reason.code.encoded)
        message.set(\.correlation_id, self.correlationID)
        switch self.reason {
        case .attestationRejected(let reason): message.set(\.reason, reason)
        case .revoked(let revocation):
            revocation.write(to: message.add(\.revocation, remotepin__v1__revocation__init))
        case .pinKeyChanged(let current): message.set(\.pin_key_id, current)
        case .rateLimited(let retryAfter), .unavailable(let retryAfter):
            message.set(\.retry_after_ms, retryAfter)
        case .malformed, .unsupported, .sessionRequired, .authenticationFailed, .outOfOrder, .challengeInvalid,
            .notAllowed, .internal:
            break
        }
    }

    init(reading message: MessageReader<Remotepin__V1__Error>) throws(FieldFault) {
        self.init(
            try Reason(reading: message),
            correlationID: try visible(
                message.text(\.correlation_id, .correlationID, in: 0...Self.longestCorrelationID),
                .correlationID
            )
        )
    }
}

/// Returns the text if it only contains visible ASCII characters, which can be printed safely.
///
/// Otherwise, an attacker who impersonates the server could send terminal control sequences.
private func visible(_ text: String, _ field: WireField) throws(FieldFault) -> String {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .invalid(field) }
    return text
}

extension Refusal.Code {
    fileprivate var encoded: Remotepin__V1__ErrorCode {
        switch self {
        case .malformed: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_MALFORMED
        case .unsupported: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_UNSUPPORTED
        case .sessionRequired: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_SESSION_REQUIRED
        case .authenticationFailed: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_AUTHENTICATION_FAILED
        case .outOfOrder: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_OUT_OF_ORDER
        case .challengeInvalid: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_CHALLENGE_INVALID
        case .attestationRejected: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_ATTESTATION_REJECTED
        case .notAllowed: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_NOT_ALLOWED
        case .revoked: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_REVOKED
        case .pinKeyChanged: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_PIN_KEY_CHANGED
        case .rateLimited: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_RATE_LIMITED
        case .unavailable: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_UNAVAILABLE
        case .internal: REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_INTERNAL
        }
    }
}

extension Refusal.Reason {
    /// Reads the reason.
    ///
    /// A code that is unknown to this version is a protocol error, as every unknown value is (docs/protocol.md).
    fileprivate init(reading message: MessageReader<Remotepin__V1__Error>) throws(FieldFault) {
        switch message.code {
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_MALFORMED: self = .malformed
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_UNSUPPORTED: self = .unsupported
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_SESSION_REQUIRED: self = .sessionRequired
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_AUTHENTICATION_FAILED: self = .authenticationFailed
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_OUT_OF_ORDER: self = .outOfOrder
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_CHALLENGE_INVALID: self = .challengeInvalid
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_ATTESTATION_REJECTED:
            self = .attestationRejected(
                try visible(message.text(\.reason, .reason, in: 0...Refusal.longestReason), .reason)
            )
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_NOT_ALLOWED: self = .notAllowed
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_REVOKED:
            self = .revoked(try Revocation(reading: message.part(\.revocation, .revocation)))
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_PIN_KEY_CHANGED:
            self = .pinKeyChanged(current: try message.fixed(\.pin_key_id, .pinKeyID))
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_RATE_LIMITED:
            self = .rateLimited(retryAfter: try message.duration(\.retry_after_ms, .retryAfter))
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_UNAVAILABLE:
            self = .unavailable(retryAfter: try message.duration(\.retry_after_ms, .retryAfter))
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_INTERNAL: self = .internal
        default: throw .invalid(.error)
        }
    }
}
