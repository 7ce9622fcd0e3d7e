public import Vocabulary

/// The phone on which a wallet runs.
///
/// The hardware key never leaves the phone. The wallet only receives evidence and proofs. Operations are asynchronous
/// if they may have to wait for the operating system or the vendor.
public protocol Device: Sendable {
    /// The platform, which determines the format of evidence and proofs.
    var platform: Platform { get }
    /// The operating system's user-visible version, such as `16`.
    ///
    /// At most 100 bytes are sent.
    var osVersion: String { get }
    /// The manufacturer's name for the model.
    var model: String { get }
    /// Whether the system shows signs of being rooted or jailbroken.
    var isRooted: Bool { get }
    /// Whether the phone has a network connection.
    var hasNetwork: Bool { get }
    /// The package name on Android, or the team and bundle identifier on iOS.
    var appID: String { get }
    /// The host application's version, such as `1.4.0`.
    var appVersion: String { get }
    /// The time since the phone started, including the time that it slept.
    ///
    /// It measures blocks and locks, so it must be a clock that cannot be set: `CLOCK_BOOTTIME` on Linux,
    /// `SystemClock.elapsedRealtime` on Android, `mach_continuous_time` on iOS.
    var uptime: Duration { get }
    /// Whether a hardware key was left by an earlier call to ``createKey(challenge:)``.
    var hasKey: Bool { get }

    /// The type of biometric used by prompts.
    var biometrics: BiometricSupport { get }
    /// Whether the phone is protected by a passcode.
    var hasPasscode: Bool { get }
    /// Whether prompts are answered outside of the program, by a real phone's owner or a simulated sensor.
    ///
    /// If false, the host application must call ``Wallet/present(_:)`` for every prompt.
    var answersPrompts: Bool { get }
    /// The host application's keychain.
    var keychain: any Keychain { get }

    /// Shows a prompt that does not open a keychain item.
    func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult

    /// Creates a hardware key, replacing any existing one, and returns the vendor's evidence for it.
    ///
    /// - Parameter challenge: The SHA-256 digest of the data that the evidence is bound to.
    func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence

    /// Signs `statement` with the hardware key.
    ///
    /// On Android, the proof is an ECDSA signature in the form r‖s over the SHA-256 digest of the statement. On iOS, it
    /// is an App Attest assertion over that digest. The assertion's counter is made durable before this method returns,
    /// so that the device never repeats a counter after a crash.
    func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8]

    /// Deletes the hardware key, if there is one.
    func deleteKey() async throws(DeviceError)
}

/// The vendor's evidence for a hardware key.
public enum DeviceEvidence: Hashable, Sendable {
    /// The DER-encoded certificates of an Android key attestation, starting with the leaf.
    case android([[UInt8]])
    /// An App Attest attestation object (CBOR) and the 32-byte id of the key.
    case apple(object: [UInt8], keyID: [UInt8])
}

/// An error from a device operation.
public enum DeviceError: Error, Hashable, CustomStringConvertible {
    /// The device has no hardware key, so the wallet has to be registered.
    case noKey
    /// The vendor's attestation service could not be reached.
    ///
    /// Try again later.
    case attestationUnavailable
    /// The device's storage failed or contains unexpected data.
    ///
    /// Show the text to the user.
    case storage(String)

    /// A description for a log or the user.
    public var description: String {
        switch self {
        case .noKey: "the device has no hardware key"
        case .attestationUnavailable: "the attestation service could not be reached"
        case .storage(let reason): reason
        }
    }
}

/// The biometric an app can use, as reported by the operating system.
public enum BiometricSupport: String, Hashable, Sendable, CaseIterable {
    /// The phone has no sensor.
    case none
    /// The phone has a sensor, but nothing is enrolled, so every prompt would fail.
    case notEnrolled = "not-enrolled"
    /// A face is enrolled.
    case face
    /// A fingerprint is enrolled.
    case fingerprint

    /// Whether a prompt can succeed.
    public var isEnrolled: Bool { self == .face || self == .fingerprint }
}

/// The ways to open a keychain item, and with it the wallet (UC2.2, `Unlock with`).
public enum UnlockMethod: String, Hashable, Sendable, CaseIterable, Codable {
    /// Any enrolled biometric: `BIOMETRY_ANY`.
    case biometric
    /// The phone's passcode: `DEVICE_PASSCODE`.
    case passcode
    /// Any enrolled biometric or the passcode: `BIOMETRY_ANY_OR_DEVICE_PASSCODE`.
    case either
}

/// The use of biometrics by a wallet (docs/testing-guide.md, The safe biometric mode).
package enum BiometricMode: String, Hashable, Sendable, CaseIterable {
    /// Only the PIN unlocks the wallet.
    case off
    /// A failed prompt leads to the PIN.
    case fallback
    /// A failed prompt leads to another prompt or to a reset, never to the PIN.
    case safe
}

/// A device that forwards everything it does not implement itself to another device.
package protocol DeviceWrapper: Device {
    /// The device that calls are forwarded to.
    var wrapped: any Device { get }
}

extension DeviceWrapper {
    package var platform: Platform { self.wrapped.platform }
    package var osVersion: String { self.wrapped.osVersion }
    package var model: String { self.wrapped.model }
    package var isRooted: Bool { self.wrapped.isRooted }
    package var hasNetwork: Bool { self.wrapped.hasNetwork }
    package var appID: String { self.wrapped.appID }
    package var appVersion: String { self.wrapped.appVersion }
    package var uptime: Duration { self.wrapped.uptime }
    package var hasKey: Bool { self.wrapped.hasKey }
    package var biometrics: BiometricSupport { self.wrapped.biometrics }
    package var hasPasscode: Bool { self.wrapped.hasPasscode }
    package var answersPrompts: Bool { self.wrapped.answersPrompts }
    package var keychain: any Keychain { self.wrapped.keychain }

    package func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
    {
        try await self.wrapped.authenticate(prompt, presentation)
    }

    package func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        try await self.wrapped.createKey(challenge: challenge)
    }

    package func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        try await self.wrapped.prove(statement: statement)
    }

    package func deleteKey() async throws(DeviceError) { try await self.wrapped.deleteKey() }
}

/// An issuer of person identification data.
///
/// This project only defines the interface (UC3.1).
public protocol PIDIssuer: Sendable {
    /// Identifies the user.
    ///
    /// Returns the user's recovery code, or nil if the identification failed or was cancelled.
    func obtain() async -> RecoveryCode?
}
