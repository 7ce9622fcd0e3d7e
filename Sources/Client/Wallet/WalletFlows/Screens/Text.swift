package import DeviceInterface
internal import Vocabulary

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
