/// What a phone can recognize its owner by, as an app sees it.
public enum BiometricSupport: String, Hashable, Sendable, CaseIterable {
    /// There is no sensor.
    case none
    /// There is a sensor that knows nobody: a prompt could only fail.
    case notEnrolled = "not-enrolled"
    case face
    case fingerprint

    /// Whether a prompt can succeed.
    public var isEnrolled: Bool { self == .face || self == .fingerprint }
}

/// What opens a keychain item, and so the wallet (safe-biometric.md, "Passcode or biometry").
public enum UnlockMethod: String, Hashable, Sendable, CaseIterable {
    /// Any enrolled biometric: `BIOMETRY_ANY`.
    case biometric
    /// The phone's own passcode: `DEVICE_PASSCODE`.
    case passcode
    /// `BIOMETRY_ANY_OR_DEVICE_PASSCODE`.
    case either
}

/// How a wallet uses biometrics at present (safe-biometric.md, "Two biometric modes").
public enum BiometricMode: String, Hashable, Sendable, CaseIterable {
    case off
    /// A prompt that fails leads to the PIN.
    case fallback
    /// A prompt that fails leads to another prompt or to a reset, never to the PIN.
    case safe
}
