package import DeviceInterface
package import Vocabulary

/// A screen as the flows show it, in no language yet.
package struct Scene: Hashable, Sendable {
    /// The step that shows it, which identifies the screen, since titles are not unique.
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
        /// The wallet's deletion code.
        case deletionCode(DeletionCode)
        /// The wrong PINs that are left in this round, at least 1.
        case attemptsLeft(Int)
        /// Whether the end of this round blocks the wallet permanently.
        case finalRound(Bool)
        /// The end of the present block.
        case blockedUntil(Timestamp)
        /// The time at which the app locks itself.
        case locksAt(Timestamp)
        /// The first rule that the entered new PIN breaks.
        case brokenRule(PINRule)
        /// The id of an error in the server's log, which the user can quote.
        case correlationID(String)
        /// The cause of a general error.
        case cause(FailureCause)
        /// The app's name.
        case product
        /// The version of the app.
        case version(AppVersion)
        /// The address of the server, HOST:PORT.
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
            /// After the screen was shown for this time.
            case after(Duration)
            /// At a fixed time.
            case at(Timestamp)
        }
    }
}

/// The reason why the current screen is not the one the user wanted to see.
public enum Obstacle: Hashable, Sendable {
    /// The PIN was wrong, and the attempt was counted.
    case wrongPIN
    /// The wallet is blocked; no PIN was judged.
    case blocked
    /// The wallet is permanently blocked.
    case blockedPermanently
    /// The wallet or the solution is revoked.
    case revoked
    /// The phone is rooted, or the server rejected its attestation.
    case deviceInsecure
    /// The phone has no network.
    case noInternet
    /// The server did not answer, or cannot handle calls right now.
    case serverUnreachable
    /// This version of the app is blocked.
    case updateNeeded
    /// The PIN that was chosen, or its repetition, was not accepted.
    case pinNotAccepted
    /// The phone's owner was not recognized, or dismissed the prompt.
    case biometricNotAccepted
    /// Any other error.
    case other
}
