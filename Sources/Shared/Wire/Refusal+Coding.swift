internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension Refusal {
    /// Characters of a correlation id.
    package static let longestCorrelationID = 32
    /// Characters of the name of a failed check.
    package static let longestReason = 64

    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__Error> {
        let message = unsafe arena.place(remotepin__v1__error__init)
        unsafe message.pointee.code = self.reason.code
        unsafe message.pointee.correlation_id = arena.text(self.correlationID)
        switch self.reason {
        case .attestationRejected(let reason):
            unsafe message.pointee.reason = arena.text(reason)
        case .revoked(let revocation):
            unsafe message.pointee.revocation = revocation.placed(in: arena)
        case .pinKeyChanged(let current):
            unsafe message.pointee.pin_key_id = arena.bytes(current)
        case .rateLimited(let retryAfter), .unavailable(let retryAfter):
            unsafe message.pointee.retry_after_ms = retryAfter.wireMilliseconds
        case .malformed, .unsupported, .sessionRequired, .authenticationFailed, .outOfOrder, .challengeInvalid,
            .notAllowed, .internal:
            break
        }
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__Error) throws(FieldFault) {
        self.init(
            try unsafe Reason(copying: message),
            correlationID: try unsafe visible(message.correlation_id, .correlationID, in: 0...Self.longestCorrelationID)
        )
    }
}

/// A text that is shown to people as it comes: visible ASCII alone.
///
/// Terminals take orders from anything else, and whoever answers in the server's place could give them.
private func visible(
    _ pointer: UnsafeMutablePointer<CChar>?,
    _ field: WireField,
    in range: ClosedRange<Int>
) throws(FieldFault) -> String {
    let text = try unsafe text(pointer, field, in: range)
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .invalid(field) }
    return text
}

extension Refusal.Reason {
    fileprivate var code: Remotepin__V1__ErrorCode {
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

    /// Copies the reason out of the tree; a code that this version does not know counts as the server's own fault.
    fileprivate init(copying message: Remotepin__V1__Error) throws(FieldFault) {
        switch unsafe message.code {
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_UNSPECIFIED: throw .invalid(.error)
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_MALFORMED: self = .malformed
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_UNSUPPORTED: self = .unsupported
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_SESSION_REQUIRED: self = .sessionRequired
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_AUTHENTICATION_FAILED: self = .authenticationFailed
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_OUT_OF_ORDER: self = .outOfOrder
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_CHALLENGE_INVALID: self = .challengeInvalid
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_ATTESTATION_REJECTED:
            self = .attestationRejected(try unsafe visible(message.reason, .reason, in: 0...Refusal.longestReason))
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_NOT_ALLOWED: self = .notAllowed
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_REVOKED:
            self = .revoked(try unsafe Revocation(copying: required(message.revocation, .revocation).pointee))
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_PIN_KEY_CHANGED:
            self = .pinKeyChanged(current: try unsafe message.pin_key_id.fixed(.pinKeyID))
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_RATE_LIMITED:
            self = .rateLimited(retryAfter: try unsafe Self.retryAfter(copying: message))
        case REMOTEPIN__V1__ERROR_CODE__ERROR_CODE_UNAVAILABLE:
            self = .unavailable(retryAfter: try unsafe Self.retryAfter(copying: message))
        default: self = .internal
        }
    }

    private static func retryAfter(copying message: Remotepin__V1__Error) throws(FieldFault) -> Duration {
        try unsafe Duration(wireMilliseconds: message.retry_after_ms, .retryAfter, in: 0...(.max))
    }
}
