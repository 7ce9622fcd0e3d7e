/// UC2.2: turns biometrics on or off.
///
///     status (1.1) ──Enable──▶ (Unlock with, 1.7) ──▶ prompt (1.3) ──confirmed──▶ PF2.4 ──▶ enabling ──▶ status
///      ▲ ▲   │ │ └──none enrolled──▶ 1.2 ──OK──▶ status  │ rejected                 └──Back──▶ status
///      │ └───┼─┼─────────────────────────────────────────┘
///      │     │ └──Disable──▶ (safe mode: prompt, 1.3) ──▶ disabling ──▶ status
///      └─────┴── Back ──▶ (caller)
struct ManageBiometrics: Flow {
    enum State {
        case status, choosing, noneEnrolled
        case prompting(Prompt)
        case prompted(Prompt)
        case confirming(UnlockMethod)
        case enabling(UnlockMethod)
        case startingToDisable, disabling
    }

    var state = State.status

    var place: Place { .behindLock }
    var restart: (any Flow)? { ManageBiometrics() }

    var endsWithLock: Bool {
        switch self.state {
        case .status, .choosing, .noneEnrolled: false
        case .prompting, .prompted, .confirming, .enabling, .startingToDisable, .disabling: true
        }
    }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .status: .show(self.status(snapshot))
        case .choosing: self.chooseMethod(snapshot)
        case .noneEnrolled:
            .show(
                Dialog("UC2.2/1.2", .prompt, .noBiometricEnrolled, .enrollBiometricFirst)
                    .offering(.ok, "UC2.2/1.2a", self.to(.status))
            )
        case .prompting(let prompt): .show(.prompting(prompt, at: "UC2.2/1.3", snapshot))
        case .prompted: .ignored
        case .confirming: .call(ConfirmProtectedAction(isCancelable: false))
        case .enabling(let method): .ask(.enableBiometrics(method))
        case .startingToDisable where snapshot.biometricMode == .safe:
            self.to(.prompting(Prompt(.disable, accepts: snapshot.unlockMethod)))
        case .startingToDisable: self.to(.disabling)
        case .disabling: .ask(.disableBiometrics)
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.prompting(let prompt), .presented(let presentation)):
            self.to(.prompted(prompt), .ask(.prompt(prompt, presentation)))
        case (.prompted(let prompt), .answered(.prompted(.confirmed))) where prompt.purpose == .disable:
            self.to(.disabling, after: "UC2.2/1.3a")
        case (.prompted(let prompt), .answered(.prompted(.confirmed))):
            self.to(.confirming(prompt.accepts), after: "UC2.2/1.3a")
        case (.prompted, .answered(.prompted)), (.prompted, .answered(.itemGone)):
            self.to(.status, after: "UC2.2/1.3b")
        case (.prompted, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "UC2.2/1.3"))
        case (.prompted(let prompt), .returned(.tryAgain)): self.to(.prompting(prompt))

        case (.confirming(let method), .returned(.confirmed)): self.to(.enabling(method), after: "UC2.2/1.4a")
        case (.confirming, .returned(.back)): self.to(.status, after: "UC2.2/1.4b")

        case (.enabling, .answered(.biometricsChanged)): self.to(.status, after: "UC2.2/1.5")
        case (.enabling, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "UC2.2/1.5"))
        case (.enabling(let method), .returned(.tryAgain)): self.to(.enabling(method))

        case (.disabling, .answered(.biometricsChanged)): self.to(.status, after: "UC2.2/1.6")
        case (.disabling, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "UC2.2/1.6"))
        case (.disabling, .returned(.tryAgain)): self.to(.disabling)

        case (.prompted, .returned(.closed)), (.enabling, .returned(.closed)), (.disabling, .returned(.closed)):
            self.to(.status)

        case (_, .entered), (.status, _), (.choosing, _), (.noneEnrolled, _), (.startingToDisable, _),
            (.prompting, .answered), (.prompting, .returned),
            (.prompted, .presented), (.prompted, .answered), (.prompted, .returned),
            (.confirming, .presented), (.confirming, .answered), (.confirming, .returned),
            (.enabling, .presented), (.enabling, .answered), (.enabling, .returned),
            (.disabling, .presented), (.disabling, .answered), (.disabling, .returned):
            .ignored
        }
    }

    private func status(_ snapshot: Snapshot) -> Dialog {
        let isOn = snapshot.biometricMode != .off
        let dialog = Dialog("UC2.2/1.1", .screen, .configureBiometrics, isOn ? .biometricsAreOn : .biometricsAreOff)
        let change =
            isOn
            ? dialog.offering(.disable, "UC2.2/1.1b", self.to(.startingToDisable))
            : dialog.offering(.enable, "UC2.2/1.1a", self.to(.choosing))
        return change.offering(.back, "UC2.2/1.1c", .finish(.returned))
    }

    /// Asks for the unlock method if several are available.
    ///
    /// If the phone has a sensor, a biometric must be enrolled first, even if the phone has a passcode. If it has no
    /// sensor, the passcode is sufficient.
    private func chooseMethod(_ snapshot: Snapshot) -> Transition {
        switch (snapshot.biometrics, snapshot.hasPasscode) {
        case (.face, true), (.fingerprint, true):
            .show(
                Dialog("UC2.2/1.7", .screen, .unlockWith, .unlockWithWhat)
                    .offering(.biometric, "UC2.2/1.7a", self.to(.prompting(Prompt(.enable, accepts: .biometric))))
                    .offering(.devicePasscode, "UC2.2/1.7b", self.to(.prompting(Prompt(.enable, accepts: .passcode))))
                    .offering(.either, "UC2.2/1.7c", self.to(.prompting(Prompt(.enable, accepts: .either))))
            )
        case (.face, false), (.fingerprint, false): self.to(.prompting(Prompt(.enable, accepts: .biometric)))
        case (.none, true): self.to(.prompting(Prompt(.enable, accepts: .passcode)))
        case (.notEnrolled, _), (.none, false): self.to(.noneEnrolled)
        }
    }
}
