internal import CProtobufC
internal import RemotePINProto
internal import Secrets
internal import Vocabulary

extension Response {
    /// Reads one frame's bytes; every length and range has been checked in a value that exists.
    ///
    /// Fields that this version does not know are ignored. A result it does not know is
    /// ``WireError/missing(_:id:)``: a client asks for nothing whose answer it cannot read.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(frame, remotepin__v1__response__unpack) { root throws(WireError) in
            let id = unsafe root.pointee.id
            return Response(
                id: id,
                result: try naming(id: id) { () throws(FieldFault) in try unsafe CallResult(copying: root) }
            )
        }
    }
}

extension CallResult {
    /// Copies the result out of the tree.
    init(copying root: UnsafeMutablePointer<Remotepin__V1__Response>) throws(FieldFault) {
        switch unsafe root.pointee.result_case {
        case REMOTEPIN__V1__RESPONSE__RESULT_HELLO:
            self = .hello(try unsafe ServerTerms(copying: root.pointee.hello.pointee))
        case REMOTEPIN__V1__RESPONSE__RESULT_BEGIN_ENROLLMENT:
            self = .beginEnrollment(try unsafe Enrollment(copying: root.pointee.begin_enrollment.pointee))
        case REMOTEPIN__V1__RESPONSE__RESULT_REGISTER:
            self = .register(try unsafe Registration(copying: root.pointee.register_.pointee))
        case REMOTEPIN__V1__RESPONSE__RESULT_OPEN_SESSION:
            self = .openSession(try unsafe SessionOpening(copying: root.pointee.open_session))
        case REMOTEPIN__V1__RESPONSE__RESULT_INSTRUCT:
            self = .instruct(try unsafe InstructResult(copying: root.pointee.instruct))
        case REMOTEPIN__V1__RESPONSE__RESULT_REVOKE_WITH_CODE:
            self = .revokeWithCode(try unsafe CodeRevocation(copying: root.pointee.revoke_with_code))
        case REMOTEPIN__V1__RESPONSE__RESULT_REPORT_WIPE:
            self = .reportWipe
        case REMOTEPIN__V1__RESPONSE__RESULT_ERROR:
            self = .refused(try unsafe Refusal(copying: root.pointee.error.pointee))
        default:
            throw .missing(.result)
        }
    }
}

extension Enrollment {
    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__BeginEnrollmentResponse) throws(FieldFault) {
        self.init(
            token: try unsafe message.token.copied(.token, in: Self.allowedTokenByteCounts),
            walletID: try unsafe message.wallet_id.fixed(.walletID),
            expiresAt: try unsafe Timestamp(wireMilliseconds: message.expires_at_ms, .expiresAt)
        )
    }
}

extension Registration {
    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__RegisterResponse) throws(FieldFault) {
        let code = try unsafe text(message.deletion_code, .deletionCode, in: 0...DeletionCode.length)
        self.init(
            unlockShare: try unsafe message.unlock_share.share(.unlockShare),
            deletionCode: code.isEmpty ? nil : try DeletionCode(wire: code)
        )
    }
}

extension DeletionCode {
    /// A code of 18 characters.
    init(wire text: String) throws(FieldFault) {
        guard let code = DeletionCode(text) else { throw .invalid(.deletionCode) }
        self = code
    }
}

extension CodeRevocation {
    /// Copies the message out of the tree.
    init(copying message: UnsafeMutablePointer<Remotepin__V1__RevokeWithCodeResponse>) throws(FieldFault) {
        switch unsafe message.pointee.result_case {
        case REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_REVOKED:
            let at = unsafe message.pointee.revoked.pointee.revoked_at_ms
            self = .revoked(at: try Timestamp(wireMilliseconds: at, .revokedAt))
        case REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_NOT_RECOGNISED:
            self = .notRecognised
        default:
            throw .missing(.result)
        }
    }
}
