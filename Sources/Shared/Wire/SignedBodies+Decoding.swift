internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

// Whoever signed a body meant all of it. A field that this version does not know might change what the rest means, so
// such a body is refused as a whole, at every level of nesting; everywhere else unknown fields are ignored.

extension RegisterBody {
    /// Reads the bytes that were signed.
    package init(decoding body: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(body, remotepin__v1__register_body__unpack) { root throws(WireError) in
            try naming(id: nil) { () throws(FieldFault) in try unsafe RegisterBody(copying: root.pointee) }
        }
    }

    private init(copying message: Remotepin__V1__RegisterBody) throws(FieldFault) {
        try unsafe refuseUnknownFields(message.base)
        self.init(
            pinPublicKey: try unsafe message.pin_public_key.fixed(.pinPublicKey),
            pinKeyID: try unsafe message.pin_key_id.fixed(.pinKeyID),
            attestation: try unsafe Attestation(copying: message),
            device: try unsafe DeviceFacts(copying: required(message.device, .deviceFacts).pointee)
        )
    }
}

extension Attestation {
    /// Bytes of evidence that are taken at most: certificates together, or the attestation object; a frame's length.
    ///
    /// Far more than any verifier accepts: what is too large for it is refused with the verifier's own reason.
    package static let maximumByteCount = 64 * 1024
    /// Certificates of one chain; likewise.
    package static let allowedCertificateCounts = 1...64

    fileprivate init(copying message: Remotepin__V1__RegisterBody) throws(FieldFault) {
        switch unsafe message.attestation_case {
        case REMOTEPIN__V1__REGISTER_BODY__ATTESTATION_ANDROID:
            self = .android(certificates: try unsafe Self.certificates(copying: message.android.pointee))
        case REMOTEPIN__V1__REGISTER_BODY__ATTESTATION_APPLE:
            let apple = unsafe message.apple.pointee
            try unsafe refuseUnknownFields(apple.base)
            self = .apple(
                object: try unsafe apple.attestation_object.copied(.attestationObject, in: 1...Self.maximumByteCount),
                keyID: try unsafe apple.key_id.fixed(.keyID)
            )
        default:
            throw .missing(.attestation)
        }
    }

    private static func certificates(copying message: Remotepin__V1__AndroidAttestation) throws(FieldFault)
        -> [[UInt8]]
    {
        try unsafe refuseUnknownFields(message.base)
        guard unsafe Self.allowedCertificateCounts.contains(message.n_certificates) else {
            throw .invalid(.certificates)
        }
        var certificates: [[UInt8]] = []
        var bytesLeft = Self.maximumByteCount
        for index in unsafe 0..<message.n_certificates {
            guard bytesLeft >= 1 else { throw .invalid(.certificates) }
            let certificate = try unsafe message.certificates[index].copied(.certificates, in: 1...bytesLeft)
            bytesLeft -= certificate.count
            certificates.append(certificate)
        }
        return certificates
    }
}

extension DeviceFacts {
    fileprivate init(copying message: Remotepin__V1__DeviceFacts) throws(FieldFault) {
        try unsafe refuseUnknownFields(message.base)
        let model = try unsafe text(message.model, .model, in: 0...64)
        let readModel = DeviceText(model)
        guard model.isEmpty || readModel != nil else { throw .invalid(.model) }
        self.init(
            appVersion: try unsafe Wire.appVersion(message.app_version),
            osVersion: try unsafe Wire.osVersion(message.os_version),
            model: readModel
        )
    }
}

extension OpenSessionBody {
    /// Reads the bytes that were signed.
    package init(decoding body: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(body, remotepin__v1__open_session_body__unpack) { root throws(WireError) in
            try naming(id: nil) { () throws(FieldFault) in
                try unsafe refuseUnknownFields(root.pointee.base)
                return OpenSessionBody(
                    appVersion: try unsafe Wire.appVersion(root.pointee.app_version),
                    osVersion: try unsafe Wire.osVersion(root.pointee.os_version)
                )
            }
        }
    }
}

extension InstructBody {
    /// Reads the bytes that were signed.
    package init(decoding body: [UInt8]) throws(WireError) {
        self = try unsafe withUnpacked(body, remotepin__v1__instruct_body__unpack) { root throws(WireError) in
            try naming(id: nil) { () throws(FieldFault) in try unsafe InstructBody(copying: root) }
        }
    }

    private init(copying root: UnsafeMutablePointer<Remotepin__V1__InstructBody>) throws(FieldFault) {
        let instruction = try unsafe Instruction(copying: root)
        try unsafe refuseUnknownFields(root.pointee.base)
        self.init(
            attemptID: try unsafe root.pointee.attempt_id.fixed(.attemptID),
            pinKeyID: try unsafe root.pointee.pin_key_id.fixed(.pinKeyID),
            candidate: try unsafe root.pointee.candidate_public_key.fixed(.candidatePublicKey),
            instruction: instruction
        )
    }
}

extension Instruction {
    /// Bytes of a recovery code.
    package static let allowedRecoveryCodeByteCounts = 1...128

    fileprivate init(copying root: UnsafeMutablePointer<Remotepin__V1__InstructBody>) throws(FieldFault) {
        switch unsafe root.pointee.instruction_case {
        case REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_CHECK_PIN:
            try unsafe refuseUnknownFields(root.pointee.check_pin.pointee.base)
            self = .checkPIN
        case REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_CHANGE_PIN:
            let change = unsafe root.pointee.change_pin.pointee
            try unsafe refuseUnknownFields(change.base)
            self = .changePIN(
                newKey: try unsafe change.new_public_key.fixed(.newPublicKey),
                newKeyID: try unsafe change.new_pin_key_id.fixed(.newPINKeyID)
            )
        case REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_LINK_RECOVERY_CODE:
            let link = unsafe root.pointee.link_recovery_code.pointee
            try unsafe refuseUnknownFields(link.base)
            let code = try unsafe link.recovery_code.copied(.recoveryCode, in: Self.allowedRecoveryCodeByteCounts)
            self = .linkRecoveryCode(code)
        case REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_SHOW_DELETION_CODE:
            try unsafe refuseUnknownFields(root.pointee.show_deletion_code.pointee.base)
            self = .showDeletionCode
        default:
            throw unsafe root.pointee.base.n_unknown_fields == 0 ? .missing(.instruction) : .unknownInstruction
        }
    }
}
