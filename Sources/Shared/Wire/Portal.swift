internal import RemotePINProto
package import Vocabulary

/// A request from the deletion portal to a running server.
///
/// The response has the same id.
package struct PortalRequest: Hashable, Sendable {
    package var id: UInt64
    /// The code as typed by the user.
    ///
    /// Its length must be permitted, but it is looked up even if it is invalid.
    package var code: String
    /// The user's IP address in text form.
    package var source: String

    /// The permitted lengths of a typed code, in bytes.
    package static let codeByteCounts = 1...64
    /// The permitted lengths of an address, in bytes.
    ///
    /// The shortest is `::`, and the longest is an IPv4-mapped IPv6 address.
    package static let sourceByteCounts = 2...45

    package init(id: UInt64, code: String, source: String) {
        self.id = id
        self.code = code
        self.source = source
    }
}

/// The code is the owner's secret, so it is not included when a request is printed.
extension PortalRequest: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "PortalRequest(id: \(self.id), (deletion code))" }
    package var debugDescription: String { self.description }
}

/// The answer to the ``PortalRequest`` with the same id.
package struct PortalResponse: Hashable, Sendable {
    package var id: UInt64
    package var result: PortalResult

    package init(id: UInt64, result: PortalResult) {
        self.id = id
        self.result = result
    }
}

/// The result for a deletion code that was entered in the portal.
package enum PortalResult: Hashable, Sendable {
    /// The wallet was revoked by this request or an earlier one.
    ///
    /// The time is that of the first revocation.
    case revoked(at: Timestamp)
    /// No wallet has this code.
    ///
    /// This does not reveal whether the code is invalid or unknown.
    case notRecognised
    /// The code was not looked up.
    ///
    /// Retry after the given time.
    case rateLimited(retryAfter: Duration)
    /// The request had no effect.
    ///
    /// Retry after the given time.
    case unavailable(retryAfter: Duration)
    /// The message is malformed, which means that the portal has a bug.
    case malformed

    /// The maximum time to wait before retrying.
    package static let longestWait: Duration = .seconds(86_400)
}

extension PortalRequest {
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__portal_request__init) { root in
            root.set(\.id, self.id)
            root.set(\.deletion_code, self.code)
            root.set(\.source, self.source)
        }
    }

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
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__portal_response__init) { root in
            root.set(\.id, self.id)
            self.result.write(to: root)
        }
    }

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
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_NOT_RECOGNISED: self = .notRecognised
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_RATE_LIMITED:
            self = .rateLimited(retryAfter: try root.part(\.rate_limited, .result).retryAfter())
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_UNAVAILABLE:
            self = .unavailable(retryAfter: try root.part(\.unavailable, .result).retryAfter())
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_MALFORMED: self = .malformed
        default: throw .missing(.result)
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
