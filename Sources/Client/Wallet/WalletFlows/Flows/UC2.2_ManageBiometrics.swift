internal import DeviceInterface
internal import Vocabulary

/// UC2.2 Biometrics on or off.
///
///     status (1.1) ──Enable──▶ (Unlock with, 1.7) ──▶ prompt (1.3) ──confirmed──▶ PF2.4 ──▶ enabling ──▶ status
///      ▲ ▲   │ │ └──none enrolled──▶ 1.2 ──OK──▶ status  │ rejected                 └──Back──▶ status
///      │ └───┼─┼─────────────────────────────────────────┘
///      │     │ └──Disable──▶ (safe mode: prompt, 1.3) ──▶ disabling ──▶ status
///      └─────┴── Back ──▶ (caller)
struct ManageBiometrics: Flow {
    private enum State {
        case status
        case noneEnrolled
        case choosing
        case prompting(Prompt)
        case prompted(Prompt)
        case confirming(UnlockMethod)
        case enabling(UnlockMethod)
        case disabling
    }

    private var state = State.status

    var place: Place { .behindLock }

    var endsWithLock: Bool {
        switch self.state {
        case .status, .noneEnrolled, .choosing: false
        case .prompting, .prompted, .confirming, .enabling, .disabling: true
        }
    }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        self.showStatus(snapshot)
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch (self.state, action) {
        case (.status, .enable): self.chooseMethod(snapshot)
        case (.status, .disable): self.beginDisabling(snapshot)
        case (.status, .back): .finish(.returned)
        case (.noneEnrolled, .ok): self.showStatus(snapshot)
        case (.choosing, .biometric): self.prompt(Prompt(.enable, accepts: .biometric), snapshot)
        case (.choosing, .devicePasscode): self.prompt(Prompt(.enable, accepts: .passcode), snapshot)
        case (.choosing, .either): self.prompt(Prompt(.enable, accepts: .either), snapshot)
        case (_, _): .stay
        }
    }

    mutating func present(_ presentation: Presentation, _ snapshot: Snapshot) -> Transition {
        guard case .prompting(let prompt) = self.state else { return .stay }
        self.state = .prompted(prompt)
        return .ask(.prompt(prompt, presentation))
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.state, answer) {
        case (.prompted(let prompt), .prompted(.confirmed)) where prompt.purpose == .disable:
            self.state = .disabling
            return .ask(.disableBiometrics, after: "UC2.2/1.3a")
        case (.prompted(let prompt), .prompted(.confirmed)):
            self.state = .confirming(prompt.accepts)
            return .call(ConfirmProtectedAction(isCancelable: false), after: "UC2.2/1.3a")
        case (.prompted, .prompted), (.prompted, .itemGone):
            return self.showStatus(snapshot, after: "UC2.2/1.3b")
        case (.enabling, .biometricsChanged):
            return self.showStatus(snapshot, after: "UC2.2/1.5")
        case (.disabling, .biometricsChanged):
            return self.showStatus(snapshot, after: "UC2.2/1.6")
        case (_, .failed(.revoked(let revocation))):
            return RevokedWallet.transition(to: revocation)
        case (.prompted, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC2.2/1.3"))
        case (.enabling, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC2.2/1.5"))
        case (.disabling, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC2.2/1.6"))
        case (_, _):
            return .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch (self.state, result) {
        case (.confirming(let method), .confirmed):
            self.state = .enabling(method)
            return .ask(.enableBiometrics(method), after: "UC2.2/1.4a")
        case (.confirming, .back):
            return self.showStatus(snapshot, after: "UC2.2/1.4b")
        case (.prompted(let prompt), .tryAgain):
            return self.prompt(prompt, snapshot)
        case (.enabling(let method), .tryAgain):
            return .ask(.enableBiometrics(method))
        case (.disabling, .tryAgain):
            return .ask(.disableBiometrics)
        case (_, .closed):
            return self.showStatus(snapshot)
        case (_, _):
            return .stay
        }
    }
}

extension ManageBiometrics {
    private mutating func showStatus(_ snapshot: Snapshot, after steps: StepID...) -> Transition {
        self.state = .status
        let isOn = snapshot.biometricMode != .off
        let scene = Scene("UC2.2/1.1", .screen, .configureBiometrics, isOn ? .biometricsAreOn : .biometricsAreOff)
        let choices =
            isOn
            ? scene.offering((.disable, "UC2.2/1.1b"), (.back, "UC2.2/1.1c"))
            : scene.offering((.enable, "UC2.2/1.1a"), (.back, "UC2.2/1.1c"))
        return Transition(.show(choices), steps: steps)
    }

    /// Asks by what the app is to be unlocked where the device has more than one.
    ///
    /// A sensor that knows nobody is to be told somebody first, passcode or not; without a sensor the passcode alone serves.
    private mutating func chooseMethod(_ snapshot: Snapshot) -> Transition {
        switch (snapshot.biometrics, snapshot.hasPasscode) {
        case (.face, true), (.fingerprint, true):
            self.state = .choosing
            return .show(
                Scene("UC2.2/1.7", .screen, .unlockWith, .unlockWithWhat)
                    .offering(
                        (.biometric, "UC2.2/1.7a"),
                        (.devicePasscode, "UC2.2/1.7b"),
                        (.either, "UC2.2/1.7c")
                    )
            )
        case (.face, false), (.fingerprint, false):
            return self.prompt(Prompt(.enable, accepts: .biometric), snapshot)
        case (.none, true):
            return self.prompt(Prompt(.enable, accepts: .passcode), snapshot)
        case (.notEnrolled, _), (.none, false):
            self.state = .noneEnrolled
            return .show(
                Scene("UC2.2/1.2", .prompt, .noBiometricEnrolled, .enrollBiometricFirst).offering((.ok, "UC2.2/1.2a"))
            )
        }
    }

    private mutating func beginDisabling(_ snapshot: Snapshot) -> Transition {
        guard snapshot.biometricMode == .safe else {
            self.state = .disabling
            return .ask(.disableBiometrics)
        }
        return self.prompt(Prompt(.disable, accepts: snapshot.unlockMethod), snapshot)
    }

    private mutating func prompt(_ prompt: Prompt, _ snapshot: Snapshot) -> Transition {
        self.state = .prompting(prompt)
        return .show(.prompting(prompt, at: "UC2.2/1.3", snapshot))
    }
}
