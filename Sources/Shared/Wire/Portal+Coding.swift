internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension PortalRequest {
    /// The bytes of one frame, without its length.
    package func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__portal_request__init)
        unsafe root.pointee.id = self.id
        unsafe root.pointee.deletion_code = arena.text(self.code)
        unsafe root.pointee.source = arena.text(self.source)
        return unsafe arena.packed(root)
    }

    /// Reads one frame's bytes.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(frame, remotepin__v1__portal_request__unpack) { root throws(WireError) in
            let id = unsafe root.pointee.id
            return try naming(id: id) { () throws(FieldFault) in
                PortalRequest(
                    id: id,
                    code: try unsafe text(root.pointee.deletion_code, .deletionCode, in: Self.codeByteCounts),
                    source: try unsafe text(root.pointee.source, .source, in: Self.sourceByteCounts)
                )
            }
        }
    }
}

extension PortalResponse {
    /// The bytes of one frame, without its length.
    package func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__portal_response__init)
        unsafe root.pointee.id = self.id
        unsafe self.result.place(in: root, arena)
        return unsafe arena.packed(root)
    }

    /// Reads one frame's bytes.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(frame, remotepin__v1__portal_response__unpack) { root throws(WireError) in
            let id = unsafe root.pointee.id
            return PortalResponse(
                id: id,
                result: try naming(id: id) { () throws(FieldFault) in try unsafe PortalResult(copying: root) }
            )
        }
    }
}

extension PortalResult {
    /// Makes it the response's result.
    fileprivate func place(
        in root: UnsafeMutablePointer<Remotepin__V1__PortalResponse>,
        _ arena: borrowing Arena
    ) {
        switch self {
        case .revoked(let at):
            let revoked = unsafe arena.place(remotepin__v1__portal_revoked__init)
            unsafe revoked.pointee.revoked_at_ms = at.wireMilliseconds
            unsafe root.pointee.result_case = REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_REVOKED
            unsafe root.pointee.revoked = unsafe revoked
        case .notRecognised:
            unsafe root.pointee.result_case = REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_NOT_RECOGNISED
            unsafe root.pointee.not_recognised = arena.place(remotepin__v1__portal_not_recognised__init)
        case .rateLimited(let wait):
            unsafe root.pointee.result_case = REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_RATE_LIMITED
            unsafe root.pointee.rate_limited = Self.placed(wait, in: arena)
        case .unavailable(let wait):
            unsafe root.pointee.result_case = REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_UNAVAILABLE
            unsafe root.pointee.unavailable = Self.placed(wait, in: arena)
        case .malformed:
            unsafe root.pointee.result_case = REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_MALFORMED
            unsafe root.pointee.malformed = arena.place(remotepin__v1__portal_malformed__init)
        }
    }

    private static func placed(
        _ wait: Duration,
        in arena: borrowing Arena
    ) -> UnsafeMutablePointer<Remotepin__V1__PortalWait> {
        let message = unsafe arena.place(remotepin__v1__portal_wait__init)
        unsafe message.pointee.retry_after_ms = min(wait, Self.longestWait).wireMilliseconds
        return unsafe message
    }

    /// Copies the response's result out of the tree.
    fileprivate init(copying root: UnsafeMutablePointer<Remotepin__V1__PortalResponse>) throws(FieldFault) {
        switch unsafe root.pointee.result_case {
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_REVOKED:
            let at = unsafe root.pointee.revoked.pointee.revoked_at_ms
            self = .revoked(at: try Timestamp(wireMilliseconds: at, .revokedAt))
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_NOT_RECOGNISED: self = .notRecognised
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_RATE_LIMITED:
            self = .rateLimited(retryAfter: try unsafe Self.wait(root.pointee.rate_limited.pointee))
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_UNAVAILABLE:
            self = .unavailable(retryAfter: try unsafe Self.wait(root.pointee.unavailable.pointee))
        case REMOTEPIN__V1__PORTAL_RESPONSE__RESULT_MALFORMED: self = .malformed
        default: throw .missing(.result)
        }
    }

    private static func wait(_ message: Remotepin__V1__PortalWait) throws(FieldFault) -> Duration {
        try unsafe Duration(
            wireMilliseconds: message.retry_after_ms,
            .retryAfter,
            in: 0...Self.longestWait.wireMilliseconds
        )
    }
}
