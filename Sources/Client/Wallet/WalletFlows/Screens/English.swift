internal import HostSystem
internal import Vocabulary

/// The English texts, using the wording of the founding documents.
///
/// This is one long switch over all texts, so that a missing one is a compile-time error.
struct English {
    let product: String
    let now: Timestamp
    let uptime: Duration

    func string(_ text: Text) -> String {
        switch text {
        case .splash: "Splash screen"
        case .walletDeleted: "Your wallet was deleted"
        case .walletDeletedByUser(withCode: true): "You deleted this wallet with your deletion code"
        case .walletDeletedByUser(withCode: false): "You deleted this wallet in the app"
        case .walletBlocked: "Your wallet is blocked"
        case .walletBlockedCreateNew: "Close this app or create a new wallet to use the app again."
        case .personBlocked: "You have been blocked"
        case .cannotUseNow: "You cannot use \(self.product) right now."
        case .solutionRevoked: "\(self.product) can no longer be used"
        case .technicalProblem: "You cannot use \(self.product) right now due to a technical problem on our side."
        case .contact: "Contact"
        case .contactUs: "Check our website or contact us"
        case .moreInformation: "More information"
        case .updateExists: "An update is available."
        case .updateRecommended: "An update is available. We recommend that you install it."
        case .versionBlockedIn(let time): "Update now. This version will be blocked in \(Self.length(time))."
        case .updateNeeded: "Update needed"
        case .updateToGoOn: "Update the app to go on."
        case .appIsBlocked: "App is blocked"
        case .versionBlocked: "This version of the app can no longer be used."
        case .introduction(let page): "Introduction (\(page)/3)"
        case .introductionWhat: "\(self.product) keeps your data on your own device."
        case .introductionShare: "You decide what you share, and with whom."
        case .introductionSecure: "You open the app with a PIN that only you know."
        case .privacyConsiderations: "Privacy considerations"
        case .privacySummary: "Your data stays with you."
        case .privacyStatement: "Privacy Statement"
        case .privacyInFull: "Your data is kept on your device, encrypted. Your PIN never leaves it."
        case .choosePIN: "Choose PIN"
        case .choosePINDigits: "Choose a PIN of 6 digits."
        case .pinTooSimple: "PIN too simple"
        case .pinBreaks(let rule): Self.refusal(rule)
        case .repeatPIN: "Repeat PIN"
        case .repeatPINDigits: "Enter the same 6 digits again."
        case .pinDifferentRetry: "PIN is different, retry"
        case .pinDifferentStartOver: "PIN is different, start over"
        case .sureToStop: "Are you sure you want to stop?"
        case .stopped: "Stopped"
        case .configureBiometrics: "Configure Biometrics"
        case .wantsBiometrics(let kind): "Do you want to unlock the app with \(Self.kind(kind))?"
        case .setupConfirmed: "Confirm PIN/biometric setup"
        case .walletSecured: "Your \(self.product) is secured"
        case .writeDownDeletionCode: "Write down deletion code"
        case .deletionCodePurpose: "You use this code to delete your \(self.product) from a distance."
        case .openWithPIN: "Open app with PIN"
        case .openWithYourPIN: "Open with your PIN"
        case .enterPINToFinish: "Enter your PIN once to finish securing your app"
        case .enterPINAfterChange: "What opens your wallet on this device has changed. Open with your PIN"
        case .biometricNotRecognized: "Biometric not recognized"
        case .biometricTryAgain: "Try again, or open the app with your PIN."
        case .biometricNotRecognizedEnterPIN: "Biometric not recognized enter your PIN"
        case .biometricNotRecognizedThenPIN: "Biometric not recognized, enter your PIN"
        case .biometricUsePIN: "Open the app with your PIN."
        case .biometricTooMany: "Too many failed attempts. Open with PIN"
        case .biometricUnlockFailed: "Biometric unlock failed"
        case .biometricNoFallback(let reason): Self.warning(reason)
        case .prompt(let purpose): self.question(purpose)
        case .promptAccepts(let method, let kind): "Confirm with \(Self.means(method, kind))."
        case .biometricsAreOn: "You can open the app without your PIN."
        case .biometricsAreOff: "You open the app with your PIN."
        case .noBiometricEnrolled: "No biometric set up"
        case .enrollBiometricFirst: "Set up your face or fingerprint in the settings of this device first."
        case .unlockWith: "Unlock with"
        case .unlockWithWhat: "What do you want to open the app with?"
        case .scanWithWallet: "Scan QR code with \(self.product)"
        case .scanWithWalletWhy: "For your safety, scan this QR code with the app itself."
        case .notReady: "Your \(self.product) is not ready"
        case .notReadyWhy: "Add your identity first. Then open the link again."
        case .finishFirst(let session): "Finish \(self.name(session))"
        case .finishFirstWhy: "Finish what you are doing first. Then open the link again."
        case .inactivityWarning: "Inactivity warning"
        case .stillThere(let end): "Are you still there? The app locks itself in \(Self.time(end - self.uptime))."
        case .confirmWithPIN: "Confirm with PIN"
        case .confirmWithYourPIN: "Confirm with your PIN"
        case .lastAttempt(let request, isFinal: false):
            "\(self.string(request)). You have 1 more attempt. Then your app will be blocked temporarily."
        case .lastAttempt(let request, isFinal: true):
            "\(self.string(request)). You have 1 more attempt. Then your app will be blocked permanently."
        case .given(let text): text
        case .givenWithPIN(let text): "\(text)\nConfirm with your PIN"
        case .wrongPINRetry: "Wrong PIN, retry"
        case .wrongPIN: "wrong PIN, try again."
        case .wrongPINLeft(let count): "wrong PIN, you have \(Self.attempts(count))."
        case .wrongPINBlockNext: "wrong PIN, you have 1 more attempt. Then your app will be blocked temporarily."
        case .wrongPINFinal(let count):
            "wrong PIN, you have \(Self.attempts(count)). Then your app will be blocked permanently."
        case .temporarilyBlocked: "Temporarily Blocked"
        case .blockedUntil(let end): "app is blocked for \(Self.countdown(end - self.uptime))."
        case .blockedForGood: "App is Blocked"
        case .tooManyFailedEntries:
            "You have made too many failed PIN entries. If you want to use the wallet app you have to delete data and "
                + "setup wallet again."
        case .forgotPIN: "Forgot PIN?"
        case .forgotPINDelete: "Nobody can tell you your PIN. You can delete the wallet and set it up again."
        case .obtainPID: "Obtain PID"
        case .obtainPIDWhy: "Add your identity to \(self.product)."
        case .dashboard: "Dashboard"
        case .menu: "Menu"
        case .settings: "Settings"
        case .appInformation: "App information"
        case .pinChanged: "PIN change success"
        case .useNewPIN: "From now on you open the app with your new PIN."
        case .deletionCode: "Deletion code"
        case .wipeAppData: "Wipe app data"
        case .sureToDelete: "Do you want to delete all data?"
        case .underConstruction: "under construction"
        case .attempts(let notice): self.attempts(notice)
        case .noInternet: "No internet"
        case .checkConnection: "Check your internet connection and try again."
        case .serverUnreachable: "Server unreachable"
        case .notReachedNow(notCounted: false): "The service cannot be reached right now."
        case .notReachedNow(notCounted: true):
            "The service cannot be reached right now. No attempt was counted against you."
        case .notReachedEitherPIN:
            "The service cannot be reached right now. Your PIN may be the old one or the new one."
        case .deviceInsecure: "Device insecure"
        case .deviceCannotBeUsed: "This device cannot be used for \(self.product)."
        case .somethingWrong: "Something went wrong"
        case .quoteCode(let id): "Quote this code: \(id)"
        case .cannotBeOpened(let cause): "\(Self.reason(cause)) \(Self.wayOut(cause))"
        }
    }

    func title(_ action: ActionID) -> String {
        switch action {
        case .back: "Back"
        case .biometric: "Biometric"
        case .biometrics: "Biometrics"
        case .call: "Call"
        case .cancel: "Cancel"
        case .changePIN: "Change PIN"
        case .close: "Close"
        case .confirm: "Confirm"
        case .createNewWallet: "Create new \(self.product)"
        case .dashboard: "Dashboard"
        case .deleteData: "Delete data"
        case .deleteWallet: "Delete Wallet"
        case .deletionCode: "Deletion code"
        case .devicePasscode: "Device passcode"
        case .disable: "Disable"
        case .either: "Either"
        case .enable: "Enable"
        case .enterPassword: "Enter Password"
        case .forgotPIN: "Forgot PIN"
        case .help: "Help"
        case .info: "Info"
        case .logOut: "Log out"
        case .menu: "Menu"
        case .next: "Next"
        case .no: "No"
        case .obtain: "Obtain"
        case .ok: "OK"
        case .readMore: "Read more information"
        case .readPrivacyStatement: "Read Privacy Statement"
        case .resetWallet: "Reset wallet"
        case .retry: "Retry"
        case .scanQRCode: "Scan QR code"
        case .settings: "Settings"
        case .skip: "Skip"
        case .startOver: "Start over"
        case .toHelpDesk: "To help desk"
        case .toStore: "To Play/App Store"
        case .tryAgain: "Try again"
        case .writtenDown: "I have written it down"
        case .yesContinue: "Yes continue"
        case .yesDelete: "Yes Delete"
        case .yesStop: "Yes stop"
        }
    }

    /// Returns texts such as "59 more seconds", "1 more minute" or "2 more days".
    static func countdown(_ remaining: Duration) -> String {
        switch Countdown(remaining) {
        case .seconds(let count): count == 1 ? "1 more second" : "\(count) more seconds"
        case .minutes(let count): count == 1 ? "1 more minute" : "\(count) more minutes"
        case .hours(let count): "\(count) more hours"
        case .days(let count): "\(count) more days"
        }
    }

    private static func time(_ remaining: Duration) -> String {
        switch Countdown(remaining) {
        case .seconds(let count): count == 1 ? "1 second" : "\(count) seconds"
        case .minutes(let count): count == 1 ? "1 minute" : "\(count) minutes"
        case .hours(let count): "\(count) hours"
        case .days(let count): "\(count) days"
        }
    }

    private static func kind(_ kind: BiometricSupport) -> String {
        switch kind {
        case .face: "Face ID"
        case .fingerprint: "Fingerprint"
        case .none, .notEnrolled: "biometrics"
        }
    }

    private static func means(_ method: UnlockMethod, _ kind: BiometricSupport) -> String {
        switch method {
        case .biometric: Self.kind(kind)
        case .passcode: "the passcode of this device"
        case .either: "\(Self.kind(kind)) or the passcode of this device"
        }
    }

    private func question(_ purpose: Prompt.Purpose) -> String {
        switch purpose {
        case .unlock: "Open \(self.product)"
        case .enable: "Turn on biometric unlock"
        case .disable: "Turn off biometric unlock"
        case .changePIN: "Change PIN"
        case .migrate: "Finish securing your app"
        case .confirm: "Confirm"
        }
    }

    private static func warning(_ reason: BiometricFailure) -> String {
        switch reason {
        case .mayTryAgain:
            "Your wallet cannot be opened without it. Try again, or reset your wallet: all data in it will be deleted."
        case .nothingEnrolled:
            "What opens your wallet, a face, finger or passcode, is not set up on this device. Set it up and try "
                + "again, or reset your wallet: all data in it will be deleted."
        case .lockedOut:
            "Too many failed attempts. Unlock this device with its passcode and start the app again, or reset your "
                + "wallet: all data in it will be deleted."
        case .keyIsGone:
            "What opens your wallet is no longer on this device. You can only reset your wallet: all data in it will "
                + "be deleted."
        }
    }

    private static func reason(_ cause: FailureCause) -> String {
        switch cause {
        case .hardwareKeyMissing:
            "The key of your wallet is not on this device, as after the move to a new device."
        case .walletUnknown:
            "Our service does not know your wallet on this device, as after a copy from another device."
        case .pinKeyUnknown: "The data of your wallet on this device does not fit your PIN, as after an old backup."
        default: "The data of your wallet on this device is damaged, or belongs to another wallet."
        }
    }

    private static func wayOut(_ cause: FailureCause) -> String {
        cause.wayOut == .reset
            ? "You can only reset your wallet: all data in it will be deleted."
            : "Try again, or reset your wallet: all data in it will be deleted."
    }

    private func name(_ session: HostSession) -> String {
        switch session {
        case .pinRecovery: "your new PIN"
        case .disclosure: "sharing"
        case .issuance: "adding your card"
        case .transfer: "moving your \(self.product)"
        }
    }

    private static func length(_ duration: Duration) -> String {
        switch LongTime(duration) {
        case .hours(let count): count == 1 ? "1 hour" : "\(count) hours"
        case .days(let count): "\(count) days"
        }
    }

    private static func attempts(_ count: Int) -> String {
        count == 1 ? "1 more attempt" : "\(count) more attempts"
    }

    private static func refusal(_ rule: PINRule) -> String {
        switch rule {
        case .sixCharacters: "A PIN has exactly 6 digits."
        case .digitsOnly: "A PIN has digits only."
        case .differentDigits: "A PIN has at least two different digits."
        case .notAscending: "The digits of a PIN do not all go up by one."
        case .notDescending: "The digits of a PIN do not all go down by one."
        }
    }
}

extension English {
    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    /// Returns the text for the notice, such as `2 wrong PINs since Tuesday 14:05`.
    func attempts(_ notice: AttemptNotice) -> String {
        var sentences: [String] = []
        if notice.wrongPINs > 0, notice.hint == nil {
            let count = notice.wrongPINs == 1 ? "1 wrong PIN" : "\(notice.wrongPINs) wrong PINs"
            sentences.append(count + (notice.since.map { " since \(self.day($0))" } ?? "") + ".")
        }
        if notice.tampering.contains(.unexplainedAttempts) {
            sentences.append("PINs were tried that this app did not send. Contact us.")
        }
        let others = notice.tampering.filter { $0 != .unexplainedAttempts }.map(\.rawValue).joined(separator: ", ")
        if !others.isEmpty {
            sentences.append("The server's proof of your PIN attempts is wrong (\(others)). Contact us.")
        }
        if let hint = notice.hint { sentences.append(self.suspicion(hint)) }
        return sentences.joined(separator: " ")
    }

    private func suspicion(_ hint: AttemptHint) -> String {
        guard hint.finding == .unexplainedAttempts else {
            let finding = hint.finding.rawValue
            return "Our count of your PIN attempts may be wrong (\(finding)). Enter your PIN to check this."
        }
        let count = hint.wrongPINs == 1 ? "1 wrong PIN" : "\(hint.wrongPINs) wrong PINs"
        let last = hint.lastWrong.map { ": \(count), the last one \(self.day($0))" } ?? ""
        return "PINs may have been tried that this app did not send\(last). Enter your PIN to check this."
    }

    private func day(_ time: Timestamp) -> String {
        let local = LocalTime(time)
        guard local.isWithinAWeek(of: self.now) else {
            let year = local.year == LocalTime(self.now).year ? "" : " \(local.year)"
            return "\(local.day) \(Self.months[local.month - 1])\(year) \(local.clock)"
        }
        return "\(Self.weekdays[local.weekday]) \(local.clock)"
    }
}
