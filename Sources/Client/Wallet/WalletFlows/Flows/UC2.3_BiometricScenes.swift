/// The reason why the safe mode's prompt did not open the app (UC2.3/6).
package enum BiometricFailure: Hashable, Sendable {
    /// The user was not recognized, or dismissed the prompt, perhaps by mistake.
    case mayTryAgain
    /// No face, finger or passcode is enrolled on the phone at the moment.
    ///
    /// This may change later.
    case nothingEnrolled
    /// The sensor does not accept any more attempts.
    case lockedOut
    /// The keychain item no longer exists, for example after a restore to another device.
    ///
    /// No prompt will ever open this wallet.
    case keyIsGone
}

/// UC2.3/2 to 6: the screens shown after a prompt that did not open the app.
enum BiometricNotice: Sendable {
    case firstOnIOS
    case secondOnIOS
    case onAndroid
    case tooManyAttempts
    case enterPIN
    case noFallback(BiometricFailure)
}

extension UnlockTheApp {
    func dialog(_ notice: BiometricNotice) -> Dialog {
        let dialog =
            switch notice {
            case .firstOnIOS:
                Dialog("UC2.3/2.1", .prompt, .biometricNotRecognized, .biometricTryAgain)
                    .offering(.tryAgain, "UC2.3/2.1a", self.to(.prompting))
                    .offering(.close, "UC2.3/2.1b", self.to(.entering))
            case .secondOnIOS:
                Dialog("UC2.3/3.1", .prompt, .biometricNotRecognizedEnterPIN, .biometricUsePIN)
                    .offering(.enterPassword, "UC2.3/3.1a", self.to(.entering))
                    .offering(.cancel, "UC2.3/3.1b", self.to(.entering))
            case .onAndroid:
                Dialog("UC2.3/4.1", .prompt, .biometricNotRecognized, .biometricTryAgain)
                    .offering(.tryAgain, "UC2.3/4.1a", self.to(.prompting))
                    .offering(.close, "UC2.3/4.1b", self.to(.entering))
            case .tooManyAttempts:
                Dialog("UC2.3/5.1", .prompt, .biometricTooMany)
                    .offering(.close, "UC2.3/5.1a", self.to(.notice(.enterPIN)))
            case .enterPIN:
                Dialog("UC2.3/5.2", .prompt, .biometricNotRecognizedThenPIN, .biometricUsePIN)
                    .offering(.ok, "UC2.3/5.2a", self.to(.entering))
            case .noFallback(let reason): self.noFallback(reason)
            }
        return dialog.because(.biometricNotAccepted)
    }

    private func noFallback(_ reason: BiometricFailure) -> Dialog {
        let dialog = Dialog("UC2.3/6.1", .screen, .biometricUnlockFailed, .biometricNoFallback(reason))
        let first =
            switch reason {
            case .mayTryAgain, .nothingEnrolled: dialog.offering(.tryAgain, "UC2.3/6.1a", self.to(.prompting))
            case .lockedOut, .keyIsGone: dialog
            }
        return first.offering(.resetWallet, "UC2.3/6.1b", .call(WipeAppData()))
    }
}
