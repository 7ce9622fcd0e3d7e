/// A request to the operating system to authenticate the phone's owner.
public struct Prompt: Hashable, Sendable {
    /// The reason for showing the prompt.
    public enum Purpose: String, Hashable, Sendable, CaseIterable {
        /// To open the locked wallet.
        case unlock
        /// To turn on biometrics.
        case enable
        /// To turn off biometrics.
        case disable
        /// To replace the PIN.
        case changePIN = "change-pin"
        /// To change from the PIN-fallback mode to the safe mode.
        case migrate
        /// To confirm an action of the host application in the safe mode.
        case confirm
    }

    /// The reason for showing the prompt.
    public var purpose: Purpose
    /// The unlock method accepted by the prompt.
    public var accepts: UnlockMethod

    /// Creates a prompt, which by default can be confirmed with any enrolled biometric.
    public init(_ purpose: Purpose, accepts: UnlockMethod = .biometric) {
        self.purpose = purpose
        self.accepts = accepts
    }
}

/// The input to the phone while a ``Prompt`` is open.
public enum Presentation: String, Hashable, Sendable, CaseIterable {
    /// Determined by the device, which means by the sensor setting of a simulated phone or the owner of a real one.
    case byDevice = "by-device"
    /// The owner's face or finger.
    case match
    /// Another person's face or finger.
    case mismatch
    /// The phone's passcode.
    case passcode
    /// A wrong passcode.
    case wrongPasscode = "wrong-passcode"
    /// The prompt is dismissed.
    case cancel
}

/// The result of a ``Prompt``.
public enum PromptResult: String, Hashable, Sendable, CaseIterable {
    /// The owner was recognized.
    case confirmed
    /// The input was not recognized.
    ///
    /// This counts as a failed attempt for the sensor.
    case rejected
    /// The prompt was dismissed.
    case cancelled
    /// The sensor is locked until the phone is unlocked with its passcode.
    case lockedOut = "locked-out"
    /// The prompt can no longer succeed, because nothing is enrolled or the guarded item no longer exists.
    case unavailable
}
