package import Vocabulary

/// A language-independent screen, as shown by the flows.
package struct Scene: Hashable, Sendable {
    /// The step that shows the screen and identifies it, since titles are not unique.
    package var step: StepID
    package var kind: Screen.Kind
    package var title: Text
    package var message: Text?
    package var banner: Text?
    /// The attempt notice, on the first screen behind the lock after an unlock.
    package var notice: AttemptNotice?
    package var values: [Value] = []
    package var input: Input?
    /// The system prompt, if the scene's kind is `osPrompt`.
    package var prompt: Prompt?
    package var choices: [Choice] = []
    package var timer: Timer?
    /// The reason why this is not the screen the user wanted to see.
    package var obstacle: Obstacle?

    /// A named value on the screen.
    package enum Value: Hashable, Sendable {
        case deletionCode(DeletionCode)
        /// The number of wrong PINs left in this round, at least 1.
        case attemptsLeft(Int)
        /// Whether the wallet is permanently blocked at the end of this round.
        case finalRound(Bool)
        /// The uptime at which the current block ends.
        case blockedUntil(Duration)
        /// The uptime at which the app locks itself.
        case locksAt(Duration)
        /// The first rule that the new PIN violates.
        case brokenRule(PINRule)
        /// The id of an error in the server's log, which the user can quote.
        case correlationID(String)
        /// The cause of a general error.
        case cause(FailureCause)
        /// The app's name.
        case product
        case version(AppVersion)
        /// The server's address as HOST:PORT.
        case server(String)
    }

    /// A PIN input, and the step taken when a PIN is entered.
    package struct Input: Hashable, Sendable {
        package var step: StepID
    }

    /// An action the user can select, and the step it takes.
    package struct Choice: Hashable, Sendable {
        package var id: ActionID
        package var step: StepID
    }

    /// The time at which the screen ends without user input.
    package struct Timer: Hashable, Sendable {
        package var step: StepID
        package var end: End

        package enum End: Hashable, Sendable {
            /// After the screen has been shown for this long.
            case after(Duration)
            /// At a fixed uptime.
            case at(Duration)
        }
    }
}

/// The reason why the current screen is not the one the user wanted to see.
public enum Obstacle: Hashable, Sendable {
    /// The PIN was wrong, and the attempt was counted.
    case wrongPIN
    /// The wallet is blocked, so no PIN was judged.
    case blocked
    /// The wallet is permanently blocked.
    case blockedPermanently
    /// The wallet or the solution is revoked.
    case revoked
    /// The phone is rooted, or the server rejected its attestation.
    case deviceInsecure
    /// The phone has no network.
    case noInternet
    /// The server did not answer or is currently unable to handle calls.
    case serverUnreachable
    /// This version of the app is blocked.
    case updateNeeded
    /// The chosen PIN or its repetition was not accepted.
    case pinNotAccepted
    /// The phone's owner was not recognized or dismissed the prompt.
    case biometricNotAccepted
    /// Any other error.
    case other
}

/// The app's titles and messages, identified by meaning.
///
/// Every language has a string for each of them.
package enum Text: Hashable, Sendable {
    // UC1.2
    case splash
    case walletDeleted, walletDeletedByUser(withCode: Bool)
    case walletBlocked, walletBlockedCreateNew
    case personBlocked, cannotUseNow
    case solutionRevoked, technicalProblem
    case contact, contactUs
    case moreInformation
    // PF1.4
    case updateExists, updateRecommended, versionBlockedIn(Duration)
    case updateNeeded, updateToGoOn
    case appIsBlocked, versionBlocked
    // UC1.1
    case introduction(Int), introductionWhat, introductionShare, introductionSecure
    case privacyConsiderations, privacySummary
    case privacyStatement, privacyInFull
    // PF2.9
    case choosePIN, choosePINDigits
    case pinTooSimple, pinBreaks(PINRule)
    case repeatPIN, repeatPINDigits
    case pinDifferentRetry, pinDifferentStartOver
    case sureToStop, stopped
    // UC2.1
    case configureBiometrics, wantsBiometrics(BiometricSupport)
    case setupConfirmed, walletSecured
    case writeDownDeletionCode, deletionCodePurpose
    // UC2.3 and PF2.4
    case openWithPIN, openWithYourPIN, enterPINToFinish, enterPINAfterChange
    case biometricNotRecognized, biometricTryAgain
    case biometricNotRecognizedEnterPIN, biometricNotRecognizedThenPIN, biometricUsePIN
    case biometricTooMany
    case biometricUnlockFailed, biometricNoFallback(BiometricFailure)
    // System prompts and UC2.2
    case prompt(Prompt.Purpose), promptAccepts(UnlockMethod, BiometricSupport)
    case biometricsAreOn, biometricsAreOff
    case noBiometricEnrolled, enrollBiometricFirst
    case unlockWith, unlockWithWhat
    // PF2.7
    case scanWithWallet, scanWithWalletWhy
    case notReady, notReadyWhy
    case finishFirst(HostSession), finishFirstWhy
    // LOCK
    case inactivityWarning, stillThere(Duration)
    case confirmWithPIN, confirmWithYourPIN
    /// A text of the host application, and the same with the request for the PIN.
    case given(String), givenWithPIN(String)
    // PF2.8
    indirect case lastAttempt(Text, isFinal: Bool)
    case wrongPINRetry, wrongPIN, wrongPINLeft(Int), wrongPINBlockNext, wrongPINFinal(Int)
    case temporarilyBlocked, blockedUntil(Duration)
    case blockedForGood, tooManyFailedEntries
    case forgotPIN, forgotPINDelete
    // Settings and the rest
    case obtainPID, obtainPIDWhy
    case dashboard, menu, settings, appInformation
    case pinChanged, useNewPIN
    case deletionCode
    case wipeAppData, sureToDelete
    case underConstruction
    // Receipts
    case attempts(AttemptNotice)
    // Errors
    case noInternet, checkConnection
    case serverUnreachable, notReachedNow(notCounted: Bool), notReachedEitherPIN
    case deviceInsecure, deviceCannotBeUsed
    case somethingWrong, quoteCode(String), cannotBeOpened(FailureCause)
}

/// A remaining time as displayed in every language, rounded up: in seconds below a minute, in minutes below two hours,
/// in hours below two days, and otherwise in days.
enum Countdown: Hashable {
    case seconds(Int64)
    case minutes(Int64)
    case hours(Int64)
    case days(Int64)

    init(_ remaining: Duration) {
        let seconds = max(0, remaining.milliseconds.dividedRoundingUp(by: 1000))
        let minutes = seconds.dividedRoundingUp(by: 60)
        let hours = minutes.dividedRoundingUp(by: 60)
        if seconds < 60 {
            self = .seconds(seconds)
        } else if minutes < 120 {
            self = .minutes(minutes)
        } else {
            self = hours < 48 ? .hours(hours) : .days(hours.dividedRoundingUp(by: 24))
        }
    }
}

/// A long time, displayed in hours or, from two days on, in days.
///
/// Hours are rounded up.
enum LongTime: Hashable {
    case hours(Int64)
    case days(Int64)

    init(_ duration: Duration) {
        let hours = max(1, duration.milliseconds.dividedRoundingUp(by: 3_600_000))
        self = hours < 48 ? .hours(hours) : .days(hours / 24)
    }
}
