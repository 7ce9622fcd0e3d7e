package import DeviceInterface
package import Vocabulary

/// A screen as the flows show it, in no language yet.
package struct Scene: Hashable, Sendable {
    /// The step that shows it, which identifies a screen; titles repeat.
    package var step: StepID
    package var kind: Screen.Kind
    package var title: Text
    package var message: Text?
    package var banner: Text?
    /// Facts about attempts, on the first screen behind the lock after an unlock.
    package var notice: AttemptNotice?
    package var values: [Value] = []
    package var input: Input?
    /// The question of the operating system to the phone's owner; the scene's kind is then `osPrompt`.
    package var prompt: Prompt?
    package var choices: [Choice] = []
    package var timer: Timer?
    /// The reason why this is not the screen that the user wanted.
    package var obstacle: Obstacle?

    /// A named value on the screen.
    package enum Value: Hashable, Sendable {
        case deletionCode(DeletionCode)
        case attemptsLeft(Int)
        case finalRound(Bool)
        case blockedUntil(Timestamp)
        /// The time at which the app locks itself.
        case locksAt(Timestamp)
        case brokenRule(PINRule)
        case correlationID(String)
        case product
        case version(AppVersion)
        case server(String)
    }

    /// A PIN input; entering a PIN takes this step.
    package struct Input: Hashable, Sendable {
        package var step: StepID
    }

    /// An action that the user can select, and the step that it takes.
    package struct Choice: Hashable, Sendable {
        package var id: ActionID
        package var step: StepID
    }

    /// The time at which the screen ends without the user.
    package struct Timer: Hashable, Sendable {
        /// The step that its end takes.
        package var step: StepID
        package var end: End

        package enum End: Hashable, Sendable {
            case after(Duration)
            case at(Timestamp)
        }
    }
}

/// The reason why the present screen is not the one that the user wanted.
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
    /// The phone's owner was not recognized, or dismissed the prompt.
    case biometricNotAccepted
    case other
}
