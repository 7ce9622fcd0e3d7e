/// A request to the operating system to authenticate the phone's owner.
public struct Prompt: Hashable, Sendable {
    /// The reason given by the app for showing the prompt.
    public enum Purpose: String, Hashable, Sendable, CaseIterable {
        /// Open the locked wallet.
        case unlock
        /// Turn biometrics on.
        case enable
        /// Turn biometrics off.
        case disable
        /// Replace the PIN.
        case changePIN = "change-pin"
        /// Change from the PIN-fallback mode to the safe mode.
        case migrate
    }

    /// The stated reason.
    public var purpose: Purpose
    /// The unlock method accepted by the prompt.
    public var accepts: UnlockMethod

    /// Creates a prompt that any enrolled biometric confirms, unless `accepts` says otherwise.
    public init(_ purpose: Purpose, accepts: UnlockMethod = .biometric) {
        self.purpose = purpose
        self.accepts = accepts
    }
}

/// The input presented to the phone while a ``Prompt`` is open.
public enum Presentation: String, Hashable, Sendable, CaseIterable {
    /// Determined by the device: the sensor setting of a simulated phone, or the owner of a real
    /// one.
    case byDevice = "by-device"
    /// The owner's face or finger.
    case match
    /// Another person's face or finger.
    case mismatch
    /// The phone's passcode.
    case passcode
    /// A wrong passcode.
    case wrongPasscode = "wrong-passcode"
    /// Dismissal of the prompt.
    case cancel
}

/// The outcome of a ``Prompt``.
public enum PromptResult: String, Hashable, Sendable, CaseIterable {
    /// The owner was recognized.
    case confirmed
    /// The input was not recognized, and was counted by the sensor.
    case rejected
    /// The prompt was dismissed.
    case cancelled
    /// The sensor accepts no input until the phone is unlocked with its passcode.
    case lockedOut = "locked-out"
    /// The prompt can no longer succeed: nothing is enrolled, or the guarded item no longer
    /// exists.
    case unavailable
}
