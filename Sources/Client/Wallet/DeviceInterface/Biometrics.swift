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
public enum UnlockMethod: String, Hashable, Sendable, CaseIterable {
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
