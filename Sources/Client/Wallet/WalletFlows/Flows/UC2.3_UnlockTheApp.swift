internal import Vocabulary

/// UC2.3 Unlock the app, with a biometric or the PIN.
///
///     prompting (1.2) ──confirmed──▶ unlocked
///        ▲ │ rejected ──▶ 2, 3 (iOS), 4, 5 (Android) ──▶ prompting or entering
///        │ ├─canceled──▶ entering      ├─locked out──▶ 5      └─error── Close──▶ entering
///        │ └─(safe mode: none of these)──▶ no fallback (6) ──Reset wallet──▶ UC9.4
///        └──Try again──────────────────────────┘
///     entering (1.3) ──PIN──▶ PF2.8 ──valid──▶ (migration prompt) ──▶ unlocked
///        ▲ │                   ├──Retry──▶ entering
///        │ └─Forgot PIN─▶      └──Back──▶ entering; from a block: leaves the app
///        └──Back─────────┘
///     unlocked ──▶ setup unfinished: UC2.1 · no PID: UC3.1 · else PF2.7, then the screen below or UC7.1
///
/// Invariant: in the safe mode, the prompt never leads to the PIN. Migrating from the PIN-fallback mode to the safe
/// mode requires the PIN once, so the prompt is skipped.
struct UnlockTheApp: Flow {
    enum Purpose: Sendable {
        /// To the dashboard, because the app was shut down or the user logged out.
        case enter
        /// To the screen below, because the app was active.
        case resume
    }

    enum State {
        case starting, prompting, unlocking
        case notice(BiometricNotice)
        case entering, validating, forgot, askingToMigrate, migrating, resolvingLink
    }

    var state = State.starting
    /// The number of rejected prompts since the app was locked.
    private var rejections = 0
    /// Whether the keychain item no longer exists, so that no prompt can open it.
    private var isItemGone = false
    private let purpose: Purpose

    init(then purpose: Purpose) { self.purpose = purpose }

    var place: Place {
        switch self.state {
        case .starting, .prompting, .unlocking, .notice, .entering, .validating, .forgot: .atLock
        case .askingToMigrate, .migrating, .resolvingLink: .behindLock
        }
    }

    var endsWithLock: Bool { true }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .starting where snapshot.biometricMode == .off || snapshot.needsMigration:
            self.to(.entering, after: "UC2.3/1.1b")
        case .starting: self.to(.prompting, after: "UC2.3/1.1a")
        case .prompting: .show(.prompting(Prompt(.unlock, accepts: snapshot.unlockMethod), at: "UC2.3/1.2", snapshot))
        case .notice(let notice): .show(self.dialog(notice))
        case .entering: .show(self.pinScreen(snapshot))
        case .forgot: .call(ForgotPIN())
        case .askingToMigrate:
            .show(.prompting(Prompt(.migrate, accepts: snapshot.unlockMethod), at: "UC2.2/1.3", snapshot))
        case .resolvingLink: .call(ResolveUniversalLink())
        case .unlocking, .validating, .migrating: .ignored
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        let isSafe = snapshot.biometricMode == .safe
        return switch (self.state, event) {
        case (.prompting, .presented(let presentation)):
            self.to(.unlocking, .ask(.unlockWithBiometrics(presentation)))
        case (.unlocking, .answered(.prompted(let result))): self.judge(result, snapshot)
        case (.unlocking, .answered(.itemGone)) where isSafe: self.to(.notice(.noFallback(.keyIsGone)))
        case (.unlocking, .answered(.itemGone)): self.askAfterChange()
        // A permanently blocked wallet does not get a presence share.
        case (.unlocking, .answered(.verdict(let verdict))): .call(ValidatePIN(showing: verdict))
        // These follow a block that was reported when the session for the prompt was opened.
        case (.unlocking, .returned(.retry)), (.unlocking, .returned(.back)): self.to(isSafe ? .prompting : .entering)
        case (.unlocking, .answered(.failed(let failure))): .call(Self.error(failure))
        case (.unlocking, .returned(.tryAgain)): self.to(.prompting)
        // If the error is permanent, the user must be able to get to Reset wallet, which is the only other way out in
        // the safe mode.
        case (.unlocking, .returned(.closed)): self.to(isSafe ? .notice(.noFallback(.mayTryAgain)) : .entering)

        case (.entering, .entered(let input)): self.validate(input, in: .validating)
        case (.forgot, .returned(.back)): self.to(.entering)
        case (.validating, .returned(.confirmed)) where snapshot.needsMigration:
            self.to(.askingToMigrate, after: "UC2.3/1.4a")
        case (.validating, .returned(.confirmed)): self.enterApp(snapshot, after: "UC2.3/1.4a")
        case (.validating, .returned(.retry)): self.to(.entering, after: "UC2.3/1.4b")
        case (.validating, .returned(.back(whileBlocked: true))): .leave(.suspended, after: "UC2.3/1.4c")
        case (.validating, .returned(.back(whileBlocked: false))): self.to(.entering, after: "UC2.3/1.4c")

        case (.askingToMigrate, .presented(let presentation)):
            self.to(.migrating, .ask(.migrateBiometrics(presentation)))
        case (.migrating, .answered(.prompted(.confirmed))): self.enterApp(snapshot, after: "UC2.2/1.3a")
        case (.migrating, .answered(.failed(.revoked(let revocation)))): RevokedWallet.transition(to: revocation)
        // The wallet can be opened as before. The next unlock asks for the PIN again.
        case (.migrating, .answered(.prompted)), (.migrating, .answered(.itemGone)), (.migrating, .answered(.failed)):
            self.enterApp(snapshot, after: "UC2.2/1.3b")

        case (.resolvingLink, .returned(.link(.none))): self.finish(after: "UC2.3/1.6a")
        case (.resolvingLink, .returned(.link(.rejected))): self.finish(after: "UC2.3/1.6b")
        case (.resolvingLink, .returned(.link(.accepted))): self.finish(after: "UC2.3/1.6c")

        case (.starting, _), (.notice, _),
            (.prompting, .entered), (.prompting, .answered), (.prompting, .returned),
            (.unlocking, .entered), (.unlocking, .presented), (.unlocking, .answered), (.unlocking, .returned),
            (.entering, .presented), (.entering, .answered), (.entering, .returned),
            (.validating, .entered), (.validating, .presented), (.validating, .answered), (.validating, .returned),
            (.forgot, .entered), (.forgot, .presented), (.forgot, .answered), (.forgot, .returned),
            (.askingToMigrate, .entered), (.askingToMigrate, .answered), (.askingToMigrate, .returned),
            (.migrating, .entered), (.migrating, .presented), (.migrating, .answered), (.migrating, .returned),
            (.resolvingLink, .entered), (.resolvingLink, .presented), (.resolvingLink, .answered),
            (.resolvingLink, .returned):
            .ignored
        }
    }
}

// MARK: - The prompt

extension UnlockTheApp {
    private func judge(_ result: PromptResult, _ snapshot: Snapshot) -> Transition {
        let isSafe = snapshot.biometricMode == .safe
        switch result {
        case .confirmed: return self.enterApp(snapshot, after: "UC2.3/1.2a")
        case .rejected:
            var flow = self
            flow.rejections += 1
            return flow.reject(snapshot)
        case .cancelled:
            return self.to(isSafe ? .notice(.noFallback(.mayTryAgain)) : .entering, after: "UC2.3/1.2f")
        case .lockedOut:
            return self.to(.notice(isSafe ? .noFallback(.lockedOut) : .tooManyAttempts), after: "UC2.3/1.2g")
        case .unavailable:
            // The item still exists and can be opened again once a biometric is enrolled, so there is no reason to
            // reset the wallet.
            return self.to(isSafe ? .notice(.noFallback(.nothingEnrolled)) : .entering)
        }
    }

    /// Shows the platform's notice for the current number of rejections.
    ///
    /// In the safe mode, every rejection leads to the warning.
    private func reject(_ snapshot: Snapshot) -> Transition {
        let isSafe = snapshot.biometricMode == .safe
        let warning = BiometricNotice.noFallback(.mayTryAgain)
        return switch (snapshot.platform, self.rejections) {
        case (.iOS, 1): self.to(.notice(isSafe ? warning : .firstOnIOS), after: "UC2.3/1.2b")
        case (.iOS, _): self.to(.notice(isSafe ? warning : .secondOnIOS), after: "UC2.3/1.2c")
        case (.android, 1...4): self.to(.notice(isSafe ? warning : .onAndroid), after: "UC2.3/1.2d")
        case (.android, _):
            self.to(.notice(isSafe ? .noFallback(.lockedOut) : .tooManyAttempts), after: "UC2.3/1.2e")
        }
    }

    private static func error(_ failure: Failure) -> ErrorScreen {
        switch failure {
        case .noInternet: ErrorScreen(failure, at: "UC2.3/1.2h")
        case .serverUnreachable: ErrorScreen(failure, at: "UC2.3/1.2i")
        case .revoked, .deviceInsecure, .generic: ErrorScreen(failure, at: "UC2.3/1.2")
        }
    }
}

// MARK: - The PIN, and the destination

extension UnlockTheApp {
    private func askAfterChange() -> Transition {
        var flow = self
        flow.isItemGone = true
        return flow.to(.entering)
    }

    private func pinScreen(_ snapshot: Snapshot) -> Dialog {
        let message: Text =
            snapshot.needsMigration ? .enterPINToFinish : self.isItemGone ? .enterPINAfterChange : .openWithYourPIN
        return Dialog("UC2.3/1.3", .screen, .openWithPIN, message)
            .askingPIN("UC2.3/1.3a", snapshot)
            .offeringInfo("UC2.3/1.3b")
            .offering(.forgotPIN, "UC2.3/1.3c", self.to(.forgot))
    }

    private func enterApp(_ snapshot: Snapshot, after step: StepID) -> Transition {
        guard snapshot.setup == .done else { return .goTo(SetUpRemotePIN(from: snapshot.setup), after: step) }
        guard snapshot.hasPID else { return .goTo(ObtainPID(), after: step, "UC2.3/1.5b") }
        return self.to(.resolvingLink, after: step, "UC2.3/1.5a")
    }

    private func finish(after step: StepID) -> Transition {
        switch self.purpose {
        case .resume: .finish(.unlocked, after: step, "UC2.3/1.7a")
        case .enter: .goTo(Dashboard(), after: step, "UC2.3/1.7b")
        }
    }
}

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
    case firstOnIOS, secondOnIOS, onAndroid, tooManyAttempts, enterPIN
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
