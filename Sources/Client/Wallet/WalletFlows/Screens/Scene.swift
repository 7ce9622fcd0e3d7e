public import DeviceInterface
public import Vocabulary

/// A screen before it is put into a language: what the flows show.
public struct Scene: Hashable, Sendable {
    /// The step that shows it, which is how a screen is known; titles repeat.
    public var step: StepID
    public var kind: Screen.Kind
    public var title: Text
    public var message: Text?
    public var banner: Text?
    public var values: [Value] = []
    public var input: Input?
    /// The operating system asks its owner; the scene's kind is then `osPrompt`.
    public var prompt: Prompt?
    public var choices: [Choice] = []
    public var timer: Timer?
    /// Why somebody who wanted something else is here.
    public var obstacle: Obstacle?

    /// One named value that is shown.
    public enum Value: Hashable, Sendable {
        case deletionCode(DeletionCode)
        case attemptsLeft(Int)
        case finalRound(Bool)
        case blockedUntil(Timestamp)
        /// The app locks itself then.
        case locksAt(Timestamp)
        case brokenRule(PINRule)
        case correlationID(String)
        case product
        case version(AppVersion)
        case server(String)
    }

    /// A PIN is asked for; entering it takes this step.
    public struct Input: Hashable, Sendable {
        public var step: StepID
    }

    /// Something a person can select, and the step that it takes.
    public struct Choice: Hashable, Sendable {
        public var id: ActionID
        public var step: StepID
    }

    /// The screen ends by itself.
    public struct Timer: Hashable, Sendable {
        /// The step that its end takes.
        public var step: StepID
        public var end: End

        public enum End: Hashable, Sendable {
            case after(Duration)
            case at(Timestamp)
        }
    }
}

/// Why the screen shown is not where the person wanted to go.
public enum Obstacle: Hashable, Sendable {
    case wrongPIN
    case blocked
    case blockedPermanently
    case revoked
    case deviceInsecure
    case noInternet
    case serverUnreachable
    case updateNeeded
    /// The PIN that was chosen, or its repetition, was not accepted.
    case pinNotAccepted
    /// The phone's owner was not recognized, or turned the prompt away.
    case biometricNotAccepted
    case other
}
