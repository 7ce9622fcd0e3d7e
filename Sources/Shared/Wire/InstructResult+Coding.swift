internal import CProtobufC
internal import RemotePINProto
internal import Secrets
internal import Vocabulary

extension InstructResult {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__InstructResponse> {
        let message = unsafe arena.place(remotepin__v1__instruct_response__init)
        switch self {
        case .pinValid(let unlockShare):
            let result = unsafe arena.place(remotepin__v1__check_pinresult__init)
            unsafe result.pointee.unlock_share = arena.bytes(unlockShare)
            unsafe message.pointee.result_case = REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHECK_PIN
            unsafe message.pointee.check_pin = unsafe result
        case .pinChanged:
            unsafe message.pointee.result_case = REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHANGE_PIN
            unsafe message.pointee.change_pin = arena.place(remotepin__v1__change_pinresult__init)
        case .recoveryCodeLinked:
            unsafe message.pointee.result_case = REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_LINK_RECOVERY_CODE
            unsafe message.pointee.link_recovery_code = arena.place(remotepin__v1__link_recovery_code_result__init)
        case .deletionCode(let code):
            let result = unsafe arena.place(remotepin__v1__show_deletion_code_result__init)
            unsafe result.pointee.deletion_code = arena.text(code.characters)
            unsafe message.pointee.result_case = REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_SHOW_DELETION_CODE
            unsafe message.pointee.show_deletion_code = unsafe result
        case .wrong(let state):
            let wrong = unsafe arena.place(remotepin__v1__wrong__init)
            unsafe wrong.pointee.state = state.placed(in: arena)
            unsafe message.pointee.result_case = REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_WRONG
            unsafe message.pointee.wrong = unsafe wrong
        case .blocked(let remaining):
            unsafe message.pointee.result_case = REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED
            unsafe message.pointee.blocked = arena.placeBlocked(remaining: remaining)
        case .blockedPermanently:
            unsafe message.pointee.result_case = REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED_PERMANENTLY
            unsafe message.pointee.blocked_permanently = arena.place(remotepin__v1__blocked_permanently__init)
        }
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: UnsafeMutablePointer<Remotepin__V1__InstructResponse>) throws(FieldFault) {
        switch unsafe message.pointee.result_case {
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHECK_PIN:
            self = .pinValid(unlockShare: try unsafe message.pointee.check_pin.pointee.unlock_share.share(.unlockShare))
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHANGE_PIN:
            self = .pinChanged
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_LINK_RECOVERY_CODE:
            self = .recoveryCodeLinked
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_SHOW_DELETION_CODE:
            let code = unsafe message.pointee.show_deletion_code.pointee.deletion_code
            self = .deletionCode(
                try unsafe DeletionCode(wire: text(code, .deletionCode, in: DeletionCode.length...DeletionCode.length))
            )
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_WRONG:
            self = .wrong(try unsafe PINState(copying: required(message.pointee.wrong.pointee.state, .pinState)))
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED:
            self = .blocked(remaining: try unsafe Wire.remaining(copying: message.pointee.blocked.pointee))
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED_PERMANENTLY:
            self = .blockedPermanently
        default:
            throw .missing(.result)
        }
    }
}
