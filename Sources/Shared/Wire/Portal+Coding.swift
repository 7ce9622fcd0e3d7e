internal import RemotePINProto
internal import Vocabulary

extension PortalRequest {
    /// Encodes this as the payload of a frame.
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__portal_request__init) { root in
            root.set(\.id, self.id)
            root.set(\.deletion_code, self.code)
            root.set(\.source, self.source)
        }
    }

    /// Decodes the payload of a frame.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try decode(frame, remotepin__v1__portal_request__unpack, id: \.id) { root throws(FieldFault) in
            PortalRequest(
                id: root.id,
                code: try root.text(\.deletion_code, .deletionCode, in: Self.codeByteCounts),
                source: try root.text(\.source, .source, in: Self.sourceByteCounts)
            )
        }
    }
}

extension PortalResponse {
    /// Encodes this as the payload of a frame.
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__portal_response__init) { root in
            root.set(\.id, self.id)
            self.result.write(to: root)
        }
    }

    /// Decodes the payload of a frame.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try decode(frame, remotepin__v1__portal_response__unpack, id: \.id) { root throws(FieldFault) in
            PortalResponse(id: root.id, result: try PortalResult(reading: root))
        }
    }
}

extension PortalResult {
    fileprivate func write(to root: MessageWriter<Remotepin__V1__PortalResponse>) {
        switch self {
        case .revoked(let at):
            root.set(\.result_case, REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_REVOKED)
            root.add(\.revoked, remotepin__v1__portal_revoked__init).set(\.revoked_at_ms, at)
        case .notRecognised:
            root.set(\.result_case, REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_NOT_RECOGNISED)
            root.add(\.not_recognised, remotepin__v1__portal_not_recognised__init)
        case .rateLimited(let wait):
            root.set(\.result_case, REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_RATE_LIMITED)
            root.add(\.rate_limited, remotepin__v1__portal_wait__init).set(retryAfter: wait)
        case .unavailable(let wait):
            root.set(\.result_case, REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_UNAVAILABLE)
            root.add(\.unavailable, remotepin__v1__portal_wait__init).set(retryAfter: wait)
        case .malformed:
            root.set(\.result_case, REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_MALFORMED)
            root.add(\.malformed, remotepin__v1__portal_malformed__init)
        }
    }

    fileprivate init(reading root: MessageReader<Remotepin__V1__PortalResponse>) throws(FieldFault) {
        switch root.result_case {
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_REVOKED:
            self = .revoked(at: try root.part(\.revoked, .result).time(\.revoked_at_ms, .revokedAt))
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_NOT_RECOGNISED:
            self = .notRecognised
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_RATE_LIMITED:
            self = .rateLimited(retryAfter: try root.part(\.rate_limited, .result).retryAfter())
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_UNAVAILABLE:
            self = .unavailable(retryAfter: try root.part(\.unavailable, .result).retryAfter())
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_MALFORMED:
            self = .malformed
        default:
            throw .missing(.result)
        }
    }
}

extension MessageWriter<Remotepin__V1__PortalWait> {
    fileprivate func set(retryAfter wait: Duration) {
        self.set(\.retry_after_ms, min(wait, PortalResult.longestWait))
    }
}

extension MessageReader<Remotepin__V1__PortalWait> {
    fileprivate func retryAfter() throws(FieldFault) -> Duration {
        try self.duration(\.retry_after_ms, .retryAfter, in: 0...PortalResult.longestWait.wireMilliseconds)
    }
}
