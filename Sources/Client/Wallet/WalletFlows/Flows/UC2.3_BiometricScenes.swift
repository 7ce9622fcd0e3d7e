/// Why safe mode's prompt did not open the app (UC2.3/6).
public enum BiometricFailure: Hashable, Sendable {
    /// Not recognized, or sent away: by mistake, perhaps.
    case mayTryAgain
    /// The phone knows nobody by face or finger at present, or has no passcode: it may again.
    case nothingEnrolled
    /// The sensor takes nothing more.
    case lockedOut
    /// The keychain item is gone, as after a restore to another device: no prompt will ever open this wallet.
    case keyIsGone
}

/// UC2.3/2 to 6: what follows a prompt that did not open the app.
enum BiometricScene {
    static func firstOnIOS() -> Scene {
        Scene("UC2.3/2.1", .prompt, .biometricNotRecognized, .biometricTryAgain)
            .offering((.tryAgain, "UC2.3/2.1a"), (.close, "UC2.3/2.1b")).because(.biometricNotAccepted)
    }

    static func secondOnIOS() -> Scene {
        Scene("UC2.3/3.1", .prompt, .biometricNotRecognizedEnterPIN, .biometricUsePIN)
            .offering((.enterPassword, "UC2.3/3.1a"), (.cancel, "UC2.3/3.1b")).because(.biometricNotAccepted)
    }

    static func onAndroid() -> Scene {
        Scene("UC2.3/4.1", .prompt, .biometricNotRecognized, .biometricTryAgain)
            .offering((.tryAgain, "UC2.3/4.1a"), (.close, "UC2.3/4.1b")).because(.biometricNotAccepted)
    }

    static func tooManyAttempts() -> Scene {
        Scene("UC2.3/5.1", .prompt, .biometricTooMany).offering((.close, "UC2.3/5.1a")).because(.biometricNotAccepted)
    }

    static func enterPIN() -> Scene {
        Scene("UC2.3/5.2", .prompt, .biometricNotRecognizedThenPIN, .biometricUsePIN)
            .offering((.ok, "UC2.3/5.2a")).because(.biometricNotAccepted)
    }

    static func noFallback(_ reason: BiometricFailure) -> Scene {
        let scene = Scene("UC2.3/6.1", .screen, .biometricUnlockFailed, .biometricNoFallback(reason)).because(
            .biometricNotAccepted
        )
        switch reason {
        case .mayTryAgain, .nothingEnrolled:
            return scene.offering((.tryAgain, "UC2.3/6.1a"), (.resetWallet, "UC2.3/6.1b"))
        case .lockedOut, .keyIsGone: return scene.offering((.resetWallet, "UC2.3/6.1b"))
        }
    }
}
