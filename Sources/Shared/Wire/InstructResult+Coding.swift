internal import RemotePINProto
internal import Secrets
internal import Vocabulary

extension InstructResult {
    /// The length that every result is padded to.
    ///
    /// This is the length of the longest result, which contains two unlock shares, plus two bytes of padding.
    ///
    /// Threat: TLS does not hide the length of an answer. If the lengths differed, an observer on the network would
    /// learn every verdict. We pad the message rather than the TLS record, so that this also works if several answers
    /// share a record.
    static let byteCount = 74

    func write(to message: MessageWriter<Remotepin__V1__InstructResponse>) {
        self.writeResult(to: message)
        message.pad(\.padding, to: Self.byteCount)
    }

    private func writeResult(to message: MessageWriter<Remotepin__V1__InstructResponse>) {
        switch self {
        case .pinValid(let unlockShare, let next):
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHECK_PIN)
            let result = message.add(\.check_pin, remotepin__v1__check_pinresult__init)
            result.set(\.unlock_share, unlockShare)
            result.set(\.next_unlock_share, next)
        case .pinChanged:
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHANGE_PIN)
            message.add(\.change_pin, remotepin__v1__change_pinresult__init)
        case .recoveryCodeLinked:
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_LINK_RECOVERY_CODE)
            message.add(\.link_recovery_code, remotepin__v1__link_recovery_code_result__init)
        case .deletionCode(let code):
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_SHOW_DELETION_CODE)
            message.add(\.show_deletion_code, remotepin__v1__show_deletion_code_result__init)
                .set(\.deletion_code, code.characters)
        case .wrong(let state):
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_WRONG)
            let wrong = message.add(\.wrong, remotepin__v1__wrong__init)
            state.write(to: wrong.add(\.state, remotepin__v1__pinstate__init))
        case .blocked(let remaining):
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED)
            message.add(\.blocked, remotepin__v1__blocked__init).set(remaining: remaining)
        case .blockedPermanently:
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED_PERMANENTLY)
            message.add(\.blocked_permanently, remotepin__v1__blocked_permanently__init)
        }
    }

    init(reading message: MessageReader<Remotepin__V1__InstructResponse>) throws(FieldFault) {
        switch message.result_case {
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHECK_PIN:
            let result = try message.part(\.check_pin, .result)
            self = .pinValid(
                unlockShare: try result.share(\.unlock_share, .unlockShare),
                next: result.isEmpty(\.next_unlock_share)
                    ? nil : try result.share(\.next_unlock_share, .nextUnlockShare)
            )
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHANGE_PIN:
            self = .pinChanged
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_LINK_RECOVERY_CODE:
            self = .recoveryCodeLinked
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_SHOW_DELETION_CODE:
            let code = try message.part(\.show_deletion_code, .result)
                .text(\.deletion_code, .deletionCode, in: DeletionCode.length...DeletionCode.length)
            self = .deletionCode(try DeletionCode(wire: code))
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_WRONG:
            self = .wrong(try PINState(reading: message.part(\.wrong, .result).part(\.state, .pinState)))
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED:
            self = .blocked(remaining: try message.part(\.blocked, .result).remaining())
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED_PERMANENTLY:
            self = .blockedPermanently
        default:
            throw .missing(.result)
        }
    }
}
