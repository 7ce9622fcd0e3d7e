internal import CProtobufC
internal import RemotePINProto
internal import Secrets
internal import Vocabulary

extension Response {
    /// The bytes of one frame, without its length.
    ///
    /// - Important: they may hold a share in the clear; they are for a TLS connection and nothing else.
    package func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__response__init)
        unsafe root.pointee.id = self.id
        unsafe self.result.place(in: root, arena)
        return unsafe arena.packed(root)
    }
}

extension CallResult {
    /// Makes this the result of `root`.
    func place(in root: UnsafeMutablePointer<Remotepin__V1__Response>, _ arena: borrowing Arena) {
        switch self {
        case .hello(let terms):
            unsafe root.pointee.result_case = REMOTEPIN__V1__RESPONSE__RESULT_HELLO
            unsafe root.pointee.hello = terms.placed(in: arena)
        case .beginEnrollment(let enrollment):
            unsafe root.pointee.result_case = REMOTEPIN__V1__RESPONSE__RESULT_BEGIN_ENROLLMENT
            unsafe root.pointee.begin_enrollment = enrollment.placed(in: arena)
        case .register(let registration):
            unsafe root.pointee.result_case = REMOTEPIN__V1__RESPONSE__RESULT_REGISTER
            unsafe root.pointee.register_ = registration.placed(in: arena)
        case .openSession(let opening):
            unsafe root.pointee.result_case = REMOTEPIN__V1__RESPONSE__RESULT_OPEN_SESSION
            unsafe root.pointee.open_session = opening.placed(in: arena)
        case .instruct(let result):
            unsafe root.pointee.result_case = REMOTEPIN__V1__RESPONSE__RESULT_INSTRUCT
            unsafe root.pointee.instruct = result.placed(in: arena)
        case .revokeWithCode(let revocation):
            unsafe root.pointee.result_case = REMOTEPIN__V1__RESPONSE__RESULT_REVOKE_WITH_CODE
            unsafe root.pointee.revoke_with_code = revocation.placed(in: arena)
        case .reportWipe:
            unsafe root.pointee.result_case = REMOTEPIN__V1__RESPONSE__RESULT_REPORT_WIPE
            unsafe root.pointee.report_wipe = arena.place(remotepin__v1__report_wipe_response__init)
        case .refused(let refusal):
            unsafe root.pointee.result_case = REMOTEPIN__V1__RESPONSE__RESULT_ERROR
            unsafe root.pointee.error = refusal.placed(in: arena)
        }
    }
}

extension Enrollment {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__BeginEnrollmentResponse> {
        let message = unsafe arena.place(remotepin__v1__begin_enrollment_response__init)
        unsafe message.pointee.token = arena.bytes(self.token)
        unsafe message.pointee.wallet_id = arena.bytes(self.walletID)
        unsafe message.pointee.expires_at_ms = self.expiresAt.wireMilliseconds
        return unsafe message
    }
}

extension Registration {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__RegisterResponse> {
        let message = unsafe arena.place(remotepin__v1__register_response__init)
        unsafe message.pointee.unlock_share = arena.bytes(self.unlockShare)
        if let code = self.deletionCode { unsafe message.pointee.deletion_code = arena.text(code.characters) }
        return unsafe message
    }
}

extension CodeRevocation {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__RevokeWithCodeResponse> {
        let message = unsafe arena.place(remotepin__v1__revoke_with_code_response__init)
        switch self {
        case .revoked(let at):
            let revoked = unsafe arena.place(remotepin__v1__revoked__init)
            unsafe revoked.pointee.revoked_at_ms = at.wireMilliseconds
            unsafe message.pointee.result_case = REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_REVOKED
            unsafe message.pointee.revoked = unsafe revoked
        case .notRecognised:
            unsafe message.pointee.result_case = REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_NOT_RECOGNISED
            unsafe message.pointee.not_recognised = arena.place(remotepin__v1__not_recognised__init)
        }
        return unsafe message
    }
}
