internal import RemotePINProto
package import Vocabulary

/// The body of a registration, signed by the PIN key and the device's hardware key.
package struct RegisterBody: Hashable, Sendable {
    package var pinPublicKey: P256PublicKey
    package var pinKeyID: PINKeyID
    package var attestation: Attestation
    package var device: DeviceFacts

    package init(pinPublicKey: P256PublicKey, pinKeyID: PINKeyID, attestation: Attestation, device: DeviceFacts) {
        self.pinPublicKey = pinPublicKey
        self.pinKeyID = pinKeyID
        self.attestation = attestation
        self.device = device
    }
}

/// A device's attestation evidence as it was sent, before it has been verified.
package enum Attestation: Hashable, Sendable {
    /// Android Key Attestation: DER-encoded certificates, starting with the leaf.
    case android(certificates: [[UInt8]])
    /// Apple App Attest: the CBOR attestation object and the id of the key, which is the SHA-256 digest of its public
    /// key.
    case apple(object: [UInt8], keyID: SHA256Digest)
}

/// The body of an OpenSession call, signed by the device's hardware key.
package struct OpenSessionBody: Hashable, Sendable {
    package var appVersion: AppVersion
    package var osVersion: DeviceText

    package init(appVersion: AppVersion, osVersion: DeviceText) {
        self.appVersion = appVersion
        self.osVersion = osVersion
    }
}

/// An instruction and the attempt it consumes, signed by the PIN key derived from the entered PIN.
package struct InstructBody: Hashable, Sendable {
    package var attemptID: AttemptID
    /// The id of the PIN key that the wallet believes to be current.
    package var pinKeyID: PINKeyID
    /// The public key derived from the entered PIN.
    package var candidate: P256PublicKey
    package var instruction: Instruction

    package init(attemptID: AttemptID, pinKeyID: PINKeyID, candidate: P256PublicKey, instruction: Instruction) {
        self.attemptID = attemptID
        self.pinKeyID = pinKeyID
        self.candidate = candidate
        self.instruction = instruction
    }
}

package enum Instruction: Hashable, Sendable {
    case checkPIN
    case changePIN(newKey: P256PublicKey, newKeyID: PINKeyID)
    case linkRecoveryCode(RecoveryCode)
    case showDeletionCode
}

// The encoded bytes are signed and sent as they are. A body is never encoded again in order to check a signature.
//
// A signature covers the entire body. An unknown field might change the meaning of the others, so a body that contains
// one at any level is rejected as a whole. Everywhere else, unknown fields are ignored.

extension RegisterBody {
    /// Returns the bytes to sign and send.
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__register_body__init) { root in
            root.set(\.pin_public_key, self.pinPublicKey)
            root.set(\.pin_key_id, self.pinKeyID)
            self.attestation.write(to: root)
            self.device.write(to: root.add(\.device, remotepin__v1__device_facts__init))
        }
    }

    /// Decodes the bytes that were signed.
    package init(decoding body: [UInt8]) throws(WireError) {
        self = try decode(body, remotepin__v1__register_body__unpack) { root throws(FieldFault) in
            try root.rejectUnknownFields()
            return RegisterBody(
                pinPublicKey: try root.fixed(\.pin_public_key, .pinPublicKey),
                pinKeyID: try root.fixed(\.pin_key_id, .pinKeyID),
                attestation: try Attestation(reading: root),
                device: try DeviceFacts(reading: root.part(\.device, .deviceFacts))
            )
        }
    }
}

extension Attestation {
    /// The maximum size of the evidence in bytes, which means of all certificates together or of the attestation
    /// object.
    ///
    /// This is the maximum size of a frame, which is more than any verifier accepts. Evidence that is too large is
    /// therefore rejected by the verifier, with its own reason.
    package static let maximumByteCount = 64 * 1024
    /// The allowed number of certificates in a chain.
    ///
    /// For the same reason, the maximum is more than any verifier accepts.
    package static let allowedCertificateCounts = 1...64

    fileprivate func write(to root: MessageWriter<Remotepin__V1__RegisterBody>) {
        switch self {
        case .android(let certificates):
            root.set(\.attestation_case, REMOTEPIN__V1__REGISTER_BODY__ATTESTATION_ANDROID)
            let message = root.add(\.android, remotepin__v1__android_attestation__init)
            message.set(\.certificates, count: \.n_certificates, certificates)
        case .apple(let object, let keyID):
            root.set(\.attestation_case, REMOTEPIN__V1__REGISTER_BODY__ATTESTATION_APPLE)
            let message = root.add(\.apple, remotepin__v1__apple_attestation__init)
            message.set(\.attestation_object, object)
            message.set(\.key_id, keyID)
        }
    }

    fileprivate init(reading root: MessageReader<Remotepin__V1__RegisterBody>) throws(FieldFault) {
        switch root.attestation_case {
        case REMOTEPIN__V1__REGISTER_BODY__ATTESTATION_ANDROID:
            let message = try root.part(\.android, .attestation)
            try message.rejectUnknownFields()
            let certificates = try message.byteStrings(
                \.certificates,
                count: \.n_certificates,
                .certificates,
                in: Self.allowedCertificateCounts,
                totalByteCount: Self.maximumByteCount
            )
            self = .android(certificates: certificates)
        case REMOTEPIN__V1__REGISTER_BODY__ATTESTATION_APPLE:
            let message = try root.part(\.apple, .attestation)
            try message.rejectUnknownFields()
            self = .apple(
                object: try message.bytes(\.attestation_object, .attestationObject, in: 1...Self.maximumByteCount),
                keyID: try message.fixed(\.key_id, .keyID)
            )
        default: throw .missing(.attestation)
        }
    }
}

extension DeviceFacts {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__DeviceFacts>) {
        message.set(\.app_version, self.appVersion.description)
        message.set(\.os_version, self.osVersion.description)
        message.set(\.model, self.model?.description)
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__DeviceFacts>) throws(FieldFault) {
        try message.rejectUnknownFields()
        let text = try message.text(\.model, .model, in: 0...64)
        let model = DeviceText(text)
        guard text.isEmpty || model != nil else { throw .invalid(.model) }
        self.init(
            appVersion: try message.appVersion(\.app_version),
            osVersion: try message.osVersion(\.os_version),
            model: model
        )
    }
}

extension OpenSessionBody {
    /// Returns the bytes to sign and send.
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__open_session_body__init) { root in
            root.set(\.app_version, self.appVersion.description)
            root.set(\.os_version, self.osVersion.description)
        }
    }

    /// Decodes the bytes that were signed.
    package init(decoding body: [UInt8]) throws(WireError) {
        self = try decode(body, remotepin__v1__open_session_body__unpack) { root throws(FieldFault) in
            try root.rejectUnknownFields()
            return OpenSessionBody(
                appVersion: try root.appVersion(\.app_version),
                osVersion: try root.osVersion(\.os_version)
            )
        }
    }
}

extension InstructBody {
    /// Returns the bytes to sign and send.
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__instruct_body__init) { root in
            root.set(\.attempt_id, self.attemptID)
            root.set(\.pin_key_id, self.pinKeyID)
            root.set(\.candidate_public_key, self.candidate)
            self.instruction.write(to: root)
        }
    }

    /// Decodes the bytes that were signed.
    package init(decoding body: [UInt8]) throws(WireError) {
        self = try decode(body, remotepin__v1__instruct_body__unpack) { root throws(FieldFault) in
            let instruction = try Instruction(reading: root)
            try root.rejectUnknownFields()
            return InstructBody(
                attemptID: try root.fixed(\.attempt_id, .attemptID),
                pinKeyID: try root.fixed(\.pin_key_id, .pinKeyID),
                candidate: try root.fixed(\.candidate_public_key, .candidatePublicKey),
                instruction: instruction
            )
        }
    }
}

extension Instruction {
    fileprivate func write(to root: MessageWriter<Remotepin__V1__InstructBody>) {
        switch self {
        case .checkPIN:
            root.set(\.instruction_case, REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_CHECK_PIN)
            root.add(\.check_pin, remotepin__v1__check_pin__init)
        case .changePIN(let newKey, let newKeyID):
            root.set(\.instruction_case, REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_CHANGE_PIN)
            let message = root.add(\.change_pin, remotepin__v1__change_pin__init)
            message.set(\.new_public_key, newKey)
            message.set(\.new_pin_key_id, newKeyID)
        case .linkRecoveryCode(let code):
            root.set(\.instruction_case, REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_LINK_RECOVERY_CODE)
            root.add(\.link_recovery_code, remotepin__v1__link_recovery_code__init).set(\.recovery_code, code.bytes)
        case .showDeletionCode:
            root.set(\.instruction_case, REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_SHOW_DELETION_CODE)
            root.add(\.show_deletion_code, remotepin__v1__show_deletion_code__init)
        }
    }

    fileprivate init(reading root: MessageReader<Remotepin__V1__InstructBody>) throws(FieldFault) {
        switch root.instruction_case {
        case REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_CHECK_PIN:
            try root.part(\.check_pin, .instruction).rejectUnknownFields()
            self = .checkPIN
        case REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_CHANGE_PIN:
            let message = try root.part(\.change_pin, .instruction)
            try message.rejectUnknownFields()
            self = .changePIN(
                newKey: try message.fixed(\.new_public_key, .newPublicKey),
                newKeyID: try message.fixed(\.new_pin_key_id, .newPINKeyID)
            )
        case REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_LINK_RECOVERY_CODE:
            let message = try root.part(\.link_recovery_code, .instruction)
            try message.rejectUnknownFields()
            let bytes = try message.bytes(\.recovery_code, .recoveryCode, in: RecoveryCode.allowedByteCounts)
            guard let code = RecoveryCode(bytes) else { throw .invalid(.recoveryCode) }
            self = .linkRecoveryCode(code)
        case REMOTEPIN__V1__INSTRUCT_BODY__INSTRUCTION_SHOW_DELETION_CODE:
            try root.part(\.show_deletion_code, .instruction).rejectUnknownFields()
            self = .showDeletionCode
        default: throw root.hasUnknownFields ? .unknownInstruction : .missing(.instruction)
        }
    }
}
