public import Vocabulary

/// The phone that a wallet runs on, as far as the wallet sees it.
///
/// The hardware key never leaves it: the wallet asks for evidence and proofs and gets nothing else. Whatever waits for
/// the operating system or its vendor is asynchronous.
public protocol Device: Sendable {
    /// Decides the form of evidence and proofs.
    var platform: Platform { get }
    /// The version of the operating system, as people know it.
    var osVersion: String { get }
    /// What the maker calls the model.
    var model: String { get }
    /// What the app finds when it looks for signs of a rooted or jailbroken system.
    var isRooted: Bool { get }
    /// Whether there is a network connection.
    var hasNetwork: Bool { get }
    /// Android: the package; iOS: team and bundle.
    var appID: String { get }
    var appVersion: String { get }
    /// Whether there is a hardware key from an earlier ``createKey(challenge:)``.
    var hasKey: Bool { get }

    var biometrics: BiometricSupport { get }
    /// Whether the phone itself is guarded by a passcode.
    var hasPasscode: Bool { get }
    /// Whether a prompt is answered without anybody at this program: by the sensor as the profile sets it, or by a real
    /// phone. If not, the wallet's host says what is presented.
    var answersPrompts: Bool { get }
    var keychain: any Keychain { get }

    /// Asks the phone's owner, where no item is to be opened.
    func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult

    /// Makes a new hardware key in place of the present one and returns the vendor's evidence for it.
    ///
    /// - Parameter challenge: The SHA-256 of what the evidence is to be bound to.
    func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence

    /// Proves with the hardware key that this device says `statement`.
    ///
    /// Android: ECDSA with SHA-256, r‖s. iOS: an App Attest assertion over the statement's SHA-256; its counter is
    /// durable before this returns, so that no crash makes the device repeat a number.
    func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8]

    /// Forgets the hardware key; nothing is done where there is none.
    func deleteKey() async throws(DeviceError)
}

/// What the vendor says of a hardware key.
public enum DeviceEvidence: Hashable, Sendable {
    /// A key attestation's certificates, leaf first.
    case android([[UInt8]])
    /// An App Attest attestation object with the key's id.
    case apple(object: [UInt8], keyID: [UInt8])
}

/// Why a device did not do what it was asked.
public enum DeviceError: Error, Hashable, CustomStringConvertible {
    /// There is no hardware key: register the wallet.
    case noKey
    /// The vendor's attestation service was not reached: try again later.
    case attestationUnavailable
    /// The device's own storage failed or holds something else: tell the person.
    case storage(String)

    public var description: String {
        switch self {
        case .noKey: "the device has no hardware key"
        case .attestationUnavailable: "the attestation service was not reached"
        case .storage(let reason): reason
        }
    }
}
