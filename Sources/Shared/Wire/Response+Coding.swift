internal import RemotePINProto
internal import Vocabulary

extension Response {
    /// Encodes this as the payload of a frame.
    ///
    /// - Important: The frame may contain a share in the clear. It must only be sent over a TLS connection.
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__response__init) { root in
            root.set(\.id, self.id)
            self.result.write(to: root)
        }
    }

    /// Decodes the payload of a frame and checks every length and range.
    ///
    /// Unknown fields are ignored. An unknown result throws ``WireError/missing(_:id:)``, because a client never makes
    /// a call whose answer it cannot read.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try decode(frame, remotepin__v1__response__unpack, id: \.id) { root throws(FieldFault) in
            Response(id: root.id, result: try CallResult(reading: root))
        }
    }
}

extension CallResult {
    fileprivate func write(to root: MessageWriter<Remotepin__V1__Response>) {
        switch self {
        case .hello(let terms):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_HELLO)
            terms.write(to: root.add(\.hello, remotepin__v1__hello_response__init))
        case .beginEnrollment(let enrollment):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_BEGIN_ENROLLMENT)
            enrollment.write(to: root.add(\.begin_enrollment, remotepin__v1__begin_enrollment_response__init))
        case .register(let registration):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_REGISTER)
            registration.write(to: root.add(\.register_, remotepin__v1__register_response__init))
        case .openSession(let opening):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_OPEN_SESSION)
            opening.write(to: root.add(\.open_session, remotepin__v1__open_session_response__init))
        case .instruct(let result):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_INSTRUCT)
            result.write(to: root.add(\.instruct, remotepin__v1__instruct_response__init))
        case .judged(let result, let receipt):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_INSTRUCT)
            let message = root.add(\.instruct, remotepin__v1__instruct_response__init)
            result.write(to: message)
            message.set(\.receipt, receipt.bytes)
        case .revokeWithCode(let revocation):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_REVOKE_WITH_CODE)
            revocation.write(to: root.add(\.revoke_with_code, remotepin__v1__revoke_with_code_response__init))
        case .reportWipe:
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_REPORT_WIPE)
            root.add(\.report_wipe, remotepin__v1__report_wipe_response__init)
        case .confirmShares:
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_CONFIRM_SHARES)
            root.add(\.confirm_shares, remotepin__v1__confirm_shares_response__init)
        case .refused(let refusal):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_ERROR)
            refusal.write(to: root.add(\.error, remotepin__v1__error__init))
        }
    }

    fileprivate init(reading root: MessageReader<Remotepin__V1__Response>) throws(FieldFault) {
        switch root.result_case {
        case REMOTEPIN__V1__RESPONSE__RESULT_HELLO:
            self = .hello(try ServerTerms(reading: root.part(\.hello, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_BEGIN_ENROLLMENT:
            self = .beginEnrollment(try Enrollment(reading: root.part(\.begin_enrollment, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_REGISTER:
            self = .register(try Registration(reading: root.part(\.register_, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_OPEN_SESSION:
            self = .openSession(try SessionOpening(reading: root.part(\.open_session, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_INSTRUCT:
            let message = try root.part(\.instruct, .result)
            let result = try InstructResult(reading: message)
            self = message.isEmpty(\.receipt) ? .instruct(result) : .judged(result, try message.receipt(\.receipt))
        case REMOTEPIN__V1__RESPONSE__RESULT_REVOKE_WITH_CODE:
            self = .revokeWithCode(try CodeRevocation(reading: root.part(\.revoke_with_code, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_REPORT_WIPE:
            self = .reportWipe
        case REMOTEPIN__V1__RESPONSE__RESULT_CONFIRM_SHARES:
            self = .confirmShares
        case REMOTEPIN__V1__RESPONSE__RESULT_ERROR:
            self = .refused(try Refusal(reading: root.part(\.error, .result)))
        default:
            throw .missing(.result)
        }
    }
}

extension Enrollment {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__BeginEnrollmentResponse>) {
        message.set(\.token, self.token)
        message.set(\.wallet_id, self.walletID)
        message.set(\.expires_at_ms, self.expiresAt)
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__BeginEnrollmentResponse>) throws(FieldFault) {
        self.init(
            token: try message.bytes(\.token, .token, in: Self.allowedTokenByteCounts),
            walletID: try message.fixed(\.wallet_id, .walletID),
            expiresAt: try message.time(\.expires_at_ms, .expiresAt)
        )
    }
}

extension Registration {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__RegisterResponse>) {
        message.set(\.unlock_share, self.unlockShare)
        message.set(\.deletion_code, self.deletionCode?.characters)
        message.set(\.receipt_keys, count: \.n_receipt_keys, self.receiptKeys.map(\.bytes))
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__RegisterResponse>) throws(FieldFault) {
        let code = try message.text(\.deletion_code, .deletionCode, in: 0...DeletionCode.length)
        self.init(
            unlockShare: try message.share(\.unlock_share, .unlockShare),
            deletionCode: code.isEmpty ? nil : try DeletionCode(wire: code),
            receiptKeys: try message.receiptKeys(\.receipt_keys, count: \.n_receipt_keys)
        )
    }
}

extension DeletionCode {
    /// Reads a code, which must have 18 characters.
    init(wire text: String) throws(FieldFault) {
        guard let code = DeletionCode(text) else { throw .invalid(.deletionCode) }
        self = code
    }
}

extension CodeRevocation {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__RevokeWithCodeResponse>) {
        switch self {
        case .revoked(let at):
            message.set(\.result_case, REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_REVOKED)
            message.add(\.revoked, remotepin__v1__revoked__init).set(\.revoked_at_ms, at)
        case .notRecognised:
            message.set(\.result_case, REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_NOT_RECOGNISED)
            message.add(\.not_recognised, remotepin__v1__not_recognised__init)
        }
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__RevokeWithCodeResponse>) throws(FieldFault) {
        switch message.result_case {
        case REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_REVOKED:
            self = .revoked(at: try message.part(\.revoked, .result).time(\.revoked_at_ms, .revokedAt))
        case REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_NOT_RECOGNISED:
            self = .notRecognised
        default:
            throw .missing(.result)
        }
    }
}
