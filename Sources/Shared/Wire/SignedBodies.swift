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
