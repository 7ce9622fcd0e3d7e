internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension Request {
    /// The bytes of one frame, without its length.
    ///
    /// ``Call/unknown`` becomes a request without a call, which is what it was read from.
    package func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__request__init)
        unsafe root.pointee.id = self.id
        unsafe self.call.place(in: root, arena)
        return unsafe arena.packed(root)
    }
}

extension Call {
    /// Makes this the call of `root`.
    func place(in root: UnsafeMutablePointer<Remotepin__V1__Request>, _ arena: borrowing Arena) {
        switch self {
        case .hello(let hello):
            unsafe root.pointee.call_case = REMOTEPIN__V1__REQUEST__CALL_HELLO
            unsafe root.pointee.hello = hello.placed(in: arena)
        case .beginEnrollment:
            unsafe root.pointee.call_case = REMOTEPIN__V1__REQUEST__CALL_BEGIN_ENROLLMENT
            unsafe root.pointee.begin_enrollment = arena.place(remotepin__v1__begin_enrollment_request__init)
        case .register(let register):
            unsafe root.pointee.call_case = REMOTEPIN__V1__REQUEST__CALL_REGISTER
            unsafe root.pointee.register_ = register.placed(in: arena)
        case .openSession(let openSession):
            unsafe root.pointee.call_case = REMOTEPIN__V1__REQUEST__CALL_OPEN_SESSION
            unsafe root.pointee.open_session = openSession.placed(in: arena)
        case .instruct(let instruct):
            unsafe root.pointee.call_case = REMOTEPIN__V1__REQUEST__CALL_INSTRUCT
            unsafe root.pointee.instruct = instruct.placed(in: arena)
        case .revokeWithCode(let code):
            let message = unsafe arena.place(remotepin__v1__revoke_with_code_request__init)
            unsafe message.pointee.deletion_code = arena.text(code)
            unsafe root.pointee.call_case = REMOTEPIN__V1__REQUEST__CALL_REVOKE_WITH_CODE
            unsafe root.pointee.revoke_with_code = unsafe message
        case .reportWipe:
            unsafe root.pointee.call_case = REMOTEPIN__V1__REQUEST__CALL_REPORT_WIPE
            unsafe root.pointee.report_wipe = arena.place(remotepin__v1__report_wipe_request__init)
        case .unknown:
            break
        }
    }
}

extension Hello {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__HelloRequest> {
        let message = unsafe arena.place(remotepin__v1__hello_request__init)
        unsafe message.pointee.app_version = arena.text(self.appVersion.description)
        switch self.platform {
        case .android: unsafe message.pointee.platform = REMOTEPIN__V1__PLATFORM__PLATFORM_ANDROID
        case .iOS: unsafe message.pointee.platform = REMOTEPIN__V1__PLATFORM__PLATFORM_IOS
        }
        unsafe message.pointee.os_version = arena.text(self.osVersion.description)
        return unsafe message
    }
}

extension Register {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__RegisterRequest> {
        let message = unsafe arena.place(remotepin__v1__register_request__init)
        unsafe message.pointee.token = arena.bytes(self.token)
        unsafe message.pointee.body = arena.bytes(self.body)
        unsafe message.pointee.pin_signature = arena.bytes(self.pinSignature)
        unsafe message.pointee.device_proof = arena.bytes(self.deviceProof.bytes)
        return unsafe message
    }
}

extension OpenSession {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__OpenSessionRequest> {
        let message = unsafe arena.place(remotepin__v1__open_session_request__init)
        unsafe message.pointee.wallet_id = arena.bytes(self.walletID)
        unsafe message.pointee.body = arena.bytes(self.body)
        unsafe message.pointee.device_proof = arena.bytes(self.deviceProof.bytes)
        return unsafe message
    }
}

extension Instruct {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__InstructRequest> {
        let message = unsafe arena.place(remotepin__v1__instruct_request__init)
        unsafe message.pointee.counter = self.counter
        unsafe message.pointee.body = arena.bytes(self.body)
        unsafe message.pointee.pin_signature = arena.bytes(self.pinSignature)
        if let signature = self.newPINSignature {
            unsafe message.pointee.new_pin_signature = arena.bytes(signature)
        }
        if let nonceY = self.pinNonceY { unsafe message.pointee.pin_nonce_y = arena.bytes(nonceY) }
        return unsafe message
    }
}
