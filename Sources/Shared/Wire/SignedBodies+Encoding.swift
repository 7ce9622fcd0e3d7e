internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

// The bytes made here are signed and sent as they are; nothing is ever encoded a second time to check a signature.

extension RegisterBody {
    /// The bytes to sign and to send.
    package func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__register_body__init)
        unsafe root.pointee.pin_public_key = arena.bytes(self.pinPublicKey)
        unsafe root.pointee.pin_key_id = arena.bytes(self.pinKeyID)
        unsafe self.attestation.place(in: root, arena)
        unsafe root.pointee.device = self.device.placed(in: arena)
        return unsafe arena.packed(root)
    }
}

extension Attestation {
    fileprivate func place(
        in root: UnsafeMutablePointer<Remotepin__V1__RegisterBody>,
        _ arena: borrowing Arena
    ) {
        switch self {
        case .android(let certificates):
            let message = unsafe arena.place(remotepin__v1__android_attestation__init)
            let list = unsafe arena.pieces(of: ProtobufCBinaryData.self, count: certificates.count)
            for (index, certificate) in certificates.enumerated() {
                unsafe list.advanced(by: index).initialize(to: arena.bytes(certificate))
            }
            unsafe message.pointee.certificates = unsafe list
            unsafe message.pointee.n_certificates = certificates.count
            unsafe root.pointee.attestation_case = REMOTEPIN__V1__REGISTER_BODY__ATTESTATION_ANDROID
            unsafe root.pointee.android = unsafe message
        case .apple(let object, let keyID):
            let message = unsafe arena.place(remotepin__v1__apple_attestation__init)
            unsafe message.pointee.attestation_object = arena.bytes(object)
            unsafe message.pointee.key_id = arena.bytes(keyID)
            unsafe root.pointee.attestation_case = REMOTEPIN__V1__REGISTER_BODY__ATTESTATION_APPLE
            unsafe root.pointee.apple = unsafe message
        }
    }
}

extension DeviceFacts {
    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__DeviceFacts> {
        let message = unsafe arena.place(remotepin__v1__device_facts__init)
        unsafe message.pointee.app_version = arena.text(self.appVersion.description)
        unsafe message.pointee.os_version = arena.text(self.osVersion.description)
        if let model = self.model { unsafe message.pointee.model = arena.text(model.description) }
        return unsafe message
    }
}

extension OpenSessionBody {
    /// The bytes to sign and to send.
    package func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__open_session_body__init)
        unsafe root.pointee.app_version = arena.text(self.appVersion.description)
        unsafe root.pointee.os_version = arena.text(self.osVersion.description)
        return unsafe arena.packed(root)
    }
}

extension InstructBody {
    /// The bytes to sign and to send.
    package func encoded() -> [UInt8] {
        let arena = Arena()
        let root = unsafe arena.place(remotepin__v1__instruct_body__init)
        unsafe root.pointee.attempt_id = arena.bytes(self.attemptID)
        unsafe root.pointee.pin_key_id = arena.bytes(self.pinKeyID)
        unsafe root.pointee.candidate_public_key = arena.bytes(self.candidate)
        unsafe self.instruction.place(in: root, arena)
        return unsafe arena.packed(root)
    }
}

extension Instruction {
    fileprivate func place(
        in root: UnsafeMutablePointer<Remotepin__V1__InstructBody>,
        _ arena: borrowing Arena
    ) {
        switch self {
        case .checkPIN:
            unsafe root.pointee.instruction_case = REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_CHECK_PIN
            unsafe root.pointee.check_pin = arena.place(remotepin__v1__check_pin__init)
        case .changePIN(let newKey, let newKeyID):
            let message = unsafe arena.place(remotepin__v1__change_pin__init)
            unsafe message.pointee.new_public_key = arena.bytes(newKey)
            unsafe message.pointee.new_pin_key_id = arena.bytes(newKeyID)
            unsafe root.pointee.instruction_case = REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_CHANGE_PIN
            unsafe root.pointee.change_pin = unsafe message
        case .linkRecoveryCode(let code):
            let message = unsafe arena.place(remotepin__v1__link_recovery_code__init)
            unsafe message.pointee.recovery_code = arena.bytes(code)
            unsafe root.pointee.instruction_case = REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_LINK_RECOVERY_CODE
            unsafe root.pointee.link_recovery_code = unsafe message
        case .showDeletionCode:
            unsafe root.pointee.instruction_case = REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_SHOW_DELETION_CODE
            unsafe root.pointee.show_deletion_code = arena.place(remotepin__v1__show_deletion_code__init)
        }
    }
}
