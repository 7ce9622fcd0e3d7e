public import Vocabulary

/// The phone that a wallet runs on.
///
/// The hardware key never leaves the phone: the wallet only gets evidence and proofs. Operations that may wait for the
/// operating system or the vendor are asynchronous.
public protocol Device: Sendable {
    /// The platform, which determines the format of evidence and proofs.
    var platform: Platform { get }
    /// The user-visible version of the operating system, such as `16`; at most 100 bytes are sent.
    var osVersion: String { get }
    /// The manufacturer's name of the model.
    var model: String { get }
    /// True if there are signs that the system is rooted or jailbroken.
    var isRooted: Bool { get }
    /// True if the phone has a network connection.
    var hasNetwork: Bool { get }
    /// The package name on Android; team and bundle identifier on iOS.
    var appID: String { get }
    /// The version of the host application, such as `1.4.0`.
    var appVersion: String { get }
    /// True if an earlier ``createKey(challenge:)`` left a hardware key.
    var hasKey: Bool { get }

    /// The biometric that prompts can use.
    var biometrics: BiometricSupport { get }
    /// True if the phone is protected by a passcode.
    var hasPasscode: Bool { get }
    /// True if prompts are answered outside the program: by a real phone's owner, or by a simulated
    /// sensor.
    ///
    /// If false, the host application calls ``Wallet/present(_:)`` for each prompt.
    var answersPrompts: Bool { get }
    /// The keychain of the host application.
    var keychain: any Keychain { get }

    /// Shows a prompt that does not open a keychain item.
    func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult

    /// Creates a hardware key, which replaces an existing one, and returns the vendor's evidence
    /// for it.
    ///
    /// - Parameter challenge: The SHA-256 of the data to which the evidence is bound.
    func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence

    /// Signs `statement` with the hardware key.
    ///
    /// On Android the proof is an ECDSA signature over the SHA-256 of the statement, r‖s. On iOS it
    /// is an App Attest assertion over the SHA-256 of the statement; its counter is durable before
    /// this returns, so that the device never repeats a counter after a crash.
    func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8]

    /// Deletes the hardware key, or does nothing if there is none.
    func deleteKey() async throws(DeviceError)
}

/// The vendor's evidence for a hardware key.
public enum DeviceEvidence: Hashable, Sendable {
    /// The certificates of an Android key attestation, leaf first, each DER.
    case android([[UInt8]])
    /// An App Attest attestation object (CBOR) and the id of the key, 32 bytes.
    case apple(object: [UInt8], keyID: [UInt8])
}

/// An error from a device operation.
public enum DeviceError: Error, Hashable, CustomStringConvertible {
    /// The device has no hardware key; the wallet has to be registered.
    case noKey
    /// The vendor's attestation service could not be reached; try again later.
    case attestationUnavailable
    /// The storage of the device failed or holds unexpected data; show the text to the user.
    case storage(String)

    /// The error as text for a log or the user.
    public var description: String {
        switch self {
        case .noKey: "the device has no hardware key"
        case .attestationUnavailable: "the attestation service could not be reached"
        case .storage(let reason): reason
        }
    }
}
