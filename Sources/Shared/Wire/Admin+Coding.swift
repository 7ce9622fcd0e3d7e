internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension AdminRequest {
    /// The bytes of one frame, without its length.
    public func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__admin_request__init)
        unsafe root.pointee.id = self.id
        switch self.command {
        case .advanceClock(let by):
            let message = unsafe arena.place(remotepin__v1__advance_clock_request__init)
            unsafe message.pointee.by_ms = by.wireMilliseconds
            unsafe root.pointee.command_case = REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_ADVANCE_CLOCK
            unsafe root.pointee.advance_clock = unsafe message
        case .unknown:
            break
        }
        return unsafe arena.packed(root)
    }

    /// Reads one frame's bytes; a command that this version does not know becomes ``AdminCommand/unknown``.
    public init(decoding frame: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(frame, remotepin__v1__admin_request__unpack) { root throws(WireError) in
            let id = unsafe root.pointee.id
            return AdminRequest(
                id: id,
                command: try naming(id: id) { () throws(FieldFault) in try unsafe AdminCommand(copying: root) }
            )
        }
    }
}

extension AdminCommand {
    fileprivate init(copying root: UnsafeMutablePointer<Remotepin__V1__AdminRequest>) throws(FieldFault) {
        switch unsafe root.pointee.command_case {
        case REMOTEPIN__V1__ADMIN_REQUEST__COMMAND_ADVANCE_CLOCK:
            let by = unsafe root.pointee.advance_clock.pointee.by_ms
            let longest = Self.longestAdvance.wireMilliseconds
            self = .advanceClock(by: try Duration(wireMilliseconds: by, .byMilliseconds, in: 1...longest))
        default:
            self = .unknown
        }
    }
}

extension AdminResponse {
    /// The bytes of one frame, without its length.
    public func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__admin_response__init)
        unsafe root.pointee.id = self.id
        switch self.result {
        case .clockAdvanced(let now):
            let message = unsafe arena.place(remotepin__v1__advance_clock_response__init)
            unsafe message.pointee.now_ms = now.wireMilliseconds
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_ADVANCE_CLOCK
            unsafe root.pointee.advance_clock = unsafe message
        case .failed(let sentence):
            let message = unsafe arena.place(remotepin__v1__admin_error__init)
            unsafe message.pointee.message = arena.text(sentence)
            unsafe root.pointee.result_case = REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_ERROR
            unsafe root.pointee.error = unsafe message
        }
        return unsafe arena.packed(root)
    }

    /// Reads one frame's bytes.
    public init(decoding frame: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(frame, remotepin__v1__admin_response__unpack) { root throws(WireError) in
            let id = unsafe root.pointee.id
            return AdminResponse(
                id: id,
                result: try naming(id: id) { () throws(FieldFault) in try unsafe AdminResult(copying: root) }
            )
        }
    }
}

extension AdminResult {
    fileprivate init(copying root: UnsafeMutablePointer<Remotepin__V1__AdminResponse>) throws(FieldFault) {
        switch unsafe root.pointee.result_case {
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_ADVANCE_CLOCK:
            let now = unsafe root.pointee.advance_clock.pointee.now_ms
            self = .clockAdvanced(now: try Timestamp(wireMilliseconds: now, .now))
        case REMOTEPIN__V1__ADMIN_RESPONSE__RESULT_ERROR:
            self = .failed(try unsafe text(root.pointee.error.pointee.message, .message, in: 0...512))
        default:
            throw .missing(.result)
        }
    }
}
