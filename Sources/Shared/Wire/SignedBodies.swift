public import Vocabulary

/// What a registration says, signed by the PIN key and the device's hardware key.
public struct RegisterBody: Hashable, Sendable {
    public var pinPublicKey: P256PublicKey
    public var pinKeyID: PINKeyID
    public var attestation: Attestation
    public var device: DeviceFacts

    public init(pinPublicKey: P256PublicKey, pinKeyID: PINKeyID, attestation: Attestation, device: DeviceFacts) {
        self.pinPublicKey = pinPublicKey
        self.pinKeyID = pinKeyID
        self.attestation = attestation
        self.device = device
    }
}

/// A device's evidence as it travels; nothing of it has been looked at.
public enum Attestation: Hashable, Sendable {
    /// Android Key Attestation: DER certificates, leaf first.
    case android(certificates: [[UInt8]])
    /// Apple App Attest: the CBOR attestation object, and the key's id (SHA-256 of its public key).
    case apple(object: [UInt8], keyID: SHA256Digest)

    public var platform: Platform {
        switch self {
        case .android: .android
        case .apple: .iOS
        }
    }
}

/// What opening a session says, signed by the device's hardware key.
public struct OpenSessionBody: Hashable, Sendable {
    public var appVersion: AppVersion
    public var osVersion: DeviceText

    public init(appVersion: AppVersion, osVersion: DeviceText) {
        self.appVersion = appVersion
        self.osVersion = osVersion
    }
}

/// One instruction with the attempt that pays for it, signed by the PIN key that the entered PIN gave.
public struct InstructBody: Hashable, Sendable {
    public var attemptID: AttemptID
    /// The PIN key that the wallet believes current.
    public var pinKeyID: PINKeyID
    /// The public half of the key that the entered PIN gave.
    public var candidate: P256PublicKey
    public var instruction: Instruction

    public init(attemptID: AttemptID, pinKeyID: PINKeyID, candidate: P256PublicKey, instruction: Instruction) {
        self.attemptID = attemptID
        self.pinKeyID = pinKeyID
        self.candidate = candidate
        self.instruction = instruction
    }
}

public enum Instruction: Hashable, Sendable {
    case checkPIN
    case changePIN(newKey: P256PublicKey, newKeyID: PINKeyID)
    /// `1...128` bytes.
    case linkRecoveryCode([UInt8])
    case showDeletionCode
}
