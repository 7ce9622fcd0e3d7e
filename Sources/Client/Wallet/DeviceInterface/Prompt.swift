/// A question of the operating system: is this the phone's owner.
public struct Prompt: Hashable, Sendable {
    /// What the app says the answer is for.
    public enum Purpose: String, Hashable, Sendable, CaseIterable {
        case unlock
        case enable
        case disable
        case changePIN = "change-pin"
        /// The step from the PIN-fallback mode to the safe one.
        case migrate
    }

    public var purpose: Purpose
    public var accepts: UnlockMethod

    public init(_ purpose: Purpose, accepts: UnlockMethod = .biometric) {
        self.purpose = purpose
        self.accepts = accepts
    }
}

/// What is held to the phone while a ``Prompt`` is open.
public enum Presentation: String, Hashable, Sendable, CaseIterable {
    /// Whatever the phone does by itself: its sensor as the profile sets it, or a real phone's owner.
    case byDevice = "by-device"
    /// The owner's face or finger.
    case match
    /// Somebody else's.
    case mismatch
    /// The phone's passcode.
    case passcode
    case wrongPasscode = "wrong-passcode"
    /// The prompt is sent away.
    case cancel
}

/// How a ``Prompt`` ended.
public enum PromptResult: String, Hashable, Sendable, CaseIterable {
    case confirmed
    /// Not recognized; the sensor counts it.
    case rejected
    case cancelled
    /// The sensor takes nothing more until the phone was unlocked with its passcode.
    case lockedOut = "locked-out"
    /// There is nothing to prompt with any more: nobody is enrolled, or the item that the prompt guards is gone.
    case unavailable
}
