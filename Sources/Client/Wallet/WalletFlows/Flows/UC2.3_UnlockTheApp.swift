internal import DeviceInterface
internal import Vocabulary

/// UC2.3 Unlock the app, with a biometric or the PIN.
///
///     prompt (1.2) ──confirmed──▶ unlocked
///        ▲ │ rejected ──▶ 2, 3 (iOS), 4, 5 (Android) ──▶ prompt or entering
///        │ ├─cancelled──▶ entering      ├─locked out──▶ 5      └─error──▶ failed ──Close──▶ entering
///        │ └─(safe mode: none of these)──▶ no fallback (6) ──Reset wallet──▶ UC9.4
///        └──Try again──────────────────────────┘
///     entering (1.3) ──PIN──▶ PF2.8 ──valid──▶ (migration prompt) ──▶ unlocked
///        ▲ │                   ├──Retry──▶ entering
///        │ └─Forgot PIN─▶      └──Back──▶ entering; from a block: leaves the app
///        └──Back─────────┘
///     unlocked ──▶ setup unfinished: UC2.1 · no PID: UC3.1 · else PF2.7, then what was there or UC7.1
///
/// Invariant: in safe mode nothing leads from the prompt to the PIN. Going from the PIN-fallback mode to the safe one
/// needs a PIN once, so then the prompt is skipped.
struct UnlockTheApp: Flow {
    /// What follows the unlocking.
    enum Purpose: Sendable {
        /// The app was shut down, or somebody logged out.
        case enter
        /// It was active; its screen is below.
        case resume
    }

    private enum State {
        case prompting
        case unlocking
        case failed
        case notRecognized
        case tooManyAttempts
        case noFallback
        case entering
        case validating
        case forgot
        case askingToMigrate
        case migrating
        case resolvingLink
    }

    private var state = State.entering
    /// Rejected prompts since the app was locked.
    private var rejections = 0
    private let purpose: Purpose

    init(then purpose: Purpose) {
        self.purpose = purpose
    }

    var place: Place {
        switch self.state {
        case .prompting, .unlocking, .failed, .notRecognized, .tooManyAttempts, .noFallback, .entering, .validating,
            .forgot:
            .atLock
        case .askingToMigrate, .migrating, .resolvingLink: .behindLock
        }
    }

    var endsWithLock: Bool { true }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        if snapshot.biometricMode == .off || snapshot.needsMigration {
            var transition = self.askPIN(snapshot)
            transition.steps = ["UC2.3/1.1b"]
            return transition
        }
        var transition = self.prompt(snapshot)
        transition.steps = ["UC2.3/1.1a"]
        return transition
    }

    mutating func enter(_ input: PINInput, _ snapshot: Snapshot) -> Transition {
        switch input {
        case .complete(let entry):
            self.state = .validating
            return .call(ValidatePIN(entry))
        case .malformed:
            return .stay
        }
    }

    mutating func present(_ presentation: Presentation, _ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .prompting:
            self.state = .unlocking
            return .ask(.unlockWithBiometrics(presentation))
        case .askingToMigrate:
            self.state = .migrating
            return .ask(.migrateBiometrics(presentation))
        case .unlocking, .failed, .notRecognized, .tooManyAttempts, .noFallback, .entering, .validating, .forgot,
            .migrating, .resolvingLink:
            return .stay
        }
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch (self.state, action) {
        case (.notRecognized, .tryAgain), (.noFallback, .tryAgain):
            return self.prompt(snapshot)
        case (.tooManyAttempts, .close):
            self.state = .notRecognized
            return .show(BiometricScene.enterPIN())
        case (.notRecognized, _):
            return self.askPIN(snapshot)
        case (.noFallback, .resetWallet):
            return .call(WipeAppData())
        case (.entering, .forgotPIN):
            self.state = .forgot
            return .call(ForgotPIN())
        case (_, _):
            return .stay
        }
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.state, answer) {
        case (.unlocking, .prompted(let result)):
            return self.judge(result, snapshot)
        case (.unlocking, .itemGone):
            return snapshot.biometricMode == .safe ? self.stopAtWarning(.keyIsGone) : self.askPIN(snapshot)
        case (.unlocking, .verdict(let verdict)):
            // A wallet that is blocked for good gets no presence share.
            return .call(ValidatePIN(showing: verdict))
        case (.unlocking, .failed(let failure)):
            self.state = .failed
            return Self.fail(failure)
        case (.migrating, .prompted(.confirmed)):
            return self.enterApp(snapshot, after: "UC2.2/1.3a")
        case (.migrating, .failed(.revoked(let revocation))):
            return RevokedWallet.transition(to: revocation)
        case (.migrating, .prompted), (.migrating, .itemGone), (.migrating, .failed):
            // The wallet opens as before; the next unlock asks for the PIN once more.
            return self.enterApp(snapshot, after: "UC2.2/1.3b")
        case (_, _):
            return .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch (self.state, result) {
        case (.validating, .confirmed):
            guard snapshot.needsMigration else { return self.enterApp(snapshot, after: "UC2.3/1.4a") }
            self.state = .askingToMigrate
            let prompt = Prompt(.migrate, accepts: snapshot.unlockMethod)
            return .show(.prompting(prompt, at: "UC2.2/1.3", snapshot), after: "UC2.3/1.4a")
        case (.validating, .retry):
            return Transition(self.askPIN(snapshot).next, steps: ["UC2.3/1.4b"])
        case (.validating, .back(whileBlocked: true)):
            return .leave(.suspended, after: "UC2.3/1.4c")
        case (.validating, .back(whileBlocked: false)):
            return Transition(self.askPIN(snapshot).next, steps: ["UC2.3/1.4c"])
        case (.forgot, .back):
            return self.askPIN(snapshot)
        case (.failed, .tryAgain):
            return self.prompt(snapshot)
        case (.unlocking, .retry), (.unlocking, .back):
            // After a block that the prompt's session found.
            return snapshot.biometricMode == .safe ? self.prompt(snapshot) : self.askPIN(snapshot)
        case (.failed, .closed):
            // Whatever fails for good, safe mode's only other way on must be within reach.
            return snapshot.biometricMode == .safe ? self.stopAtWarning(.mayTryAgain) : self.askPIN(snapshot)
        case (.resolvingLink, .link(.none)):
            return self.goOn(after: "UC2.3/1.6a")
        case (.resolvingLink, .link(.rejected)):
            return self.goOn(after: "UC2.3/1.6b")
        case (.resolvingLink, .link(.accepted)):
            return self.goOn(after: "UC2.3/1.6c")
        case (_, _):
            return .stay
        }
    }
}

// MARK: - The prompt

extension UnlockTheApp {
    private mutating func prompt(_ snapshot: Snapshot) -> Transition {
        self.state = .prompting
        return .show(.prompting(Prompt(.unlock, accepts: snapshot.unlockMethod), at: "UC2.3/1.2", snapshot))
    }

    private mutating func judge(_ result: PromptResult, _ snapshot: Snapshot) -> Transition {
        let isSafe = snapshot.biometricMode == .safe
        switch result {
        case .confirmed:
            return self.enterApp(snapshot, after: "UC2.3/1.2a")
        case .rejected:
            self.rejections += 1
            return isSafe ? self.refuse(snapshot) : self.reject(snapshot)
        case .cancelled:
            if isSafe { return self.stopAtWarning(.mayTryAgain, after: "UC2.3/1.2f") }
            return Transition(self.askPIN(snapshot).next, steps: ["UC2.3/1.2f"])
        case .lockedOut:
            if isSafe { return self.stopAtWarning(.lockedOut, after: "UC2.3/1.2g") }
            self.state = .tooManyAttempts
            return .show(BiometricScene.tooManyAttempts(), after: "UC2.3/1.2g")
        case .unavailable:
            // The item is there, and opens again once somebody is enrolled: nobody is to reset a wallet for that.
            return isSafe ? self.stopAtWarning(.nothingEnrolled) : self.askPIN(snapshot)
        }
    }

    /// With the PIN to fall back on: what this platform shows after so many rejections.
    private mutating func reject(_ snapshot: Snapshot) -> Transition {
        self.state = .notRecognized
        switch (snapshot.platform, self.rejections) {
        case (.iOS, 1):
            return .show(BiometricScene.firstOnIOS(), after: "UC2.3/1.2b")
        case (.iOS, _):
            return .show(BiometricScene.secondOnIOS(), after: "UC2.3/1.2c")
        case (.android, 1...4):
            return .show(BiometricScene.onAndroid(), after: "UC2.3/1.2d")
        case (.android, _):
            self.state = .tooManyAttempts
            return .show(BiometricScene.tooManyAttempts(), after: "UC2.3/1.2e")
        }
    }

    /// In safe mode every rejection ends at the warning; the case says which one it was.
    private mutating func refuse(_ snapshot: Snapshot) -> Transition {
        switch (snapshot.platform, self.rejections) {
        case (.iOS, 1): self.stopAtWarning(.mayTryAgain, after: "UC2.3/1.2b")
        case (.iOS, _): self.stopAtWarning(.mayTryAgain, after: "UC2.3/1.2c")
        case (.android, 1...4): self.stopAtWarning(.mayTryAgain, after: "UC2.3/1.2d")
        case (.android, _): self.stopAtWarning(.lockedOut, after: "UC2.3/1.2e")
        }
    }

    private mutating func stopAtWarning(_ reason: BiometricFailure, after steps: StepID...) -> Transition {
        self.state = .noFallback
        return Transition(.show(BiometricScene.noFallback(reason)), steps: steps)
    }

    private static func fail(_ failure: Failure) -> Transition {
        switch failure {
        case .noInternet: .call(ErrorScreen(failure, at: "UC2.3/1.2h"), after: "UC2.3/1.2h")
        case .serverUnreachable: .call(ErrorScreen(failure, at: "UC2.3/1.2i"), after: "UC2.3/1.2i")
        case .revoked(let revocation): RevokedWallet.transition(to: revocation)
        case .deviceInsecure, .generic: .call(ErrorScreen(failure, at: "UC2.3/1.2"))
        }
    }
}

// MARK: - The PIN, and what follows

extension UnlockTheApp {
    private mutating func askPIN(_ snapshot: Snapshot) -> Transition {
        self.state = .entering
        let message: Text = snapshot.needsMigration ? .enterPINToFinish : .openWithYourPIN
        return .show(
            Scene("UC2.3/1.3", .screen, .openWithPIN, message)
                .askingPIN("UC2.3/1.3a")
                .offering((.info, "UC2.3/1.3b"), (.forgotPIN, "UC2.3/1.3c"))
        )
    }

    private mutating func enterApp(_ snapshot: Snapshot, after step: StepID) -> Transition {
        guard snapshot.setup == .done else {
            return .goTo(SetUpRemotePIN(from: snapshot.setup), after: step)
        }
        guard snapshot.hasPID else { return .goTo(ObtainPID(), after: step, "UC2.3/1.5b") }
        self.state = .resolvingLink
        return .call(ResolveUniversalLink(), after: step, "UC2.3/1.5a")
    }

    private func goOn(after step: StepID) -> Transition {
        switch self.purpose {
        case .resume: .finish(.unlocked, after: step, "UC2.3/1.7a")
        case .enter: .goTo(Dashboard(), after: step, "UC2.3/1.7b")
        }
    }
}
