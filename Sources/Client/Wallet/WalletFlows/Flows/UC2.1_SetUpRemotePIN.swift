internal import DeviceInterface
internal import Vocabulary

/// UC2.1 Set up a remote PIN and biometric unlock: choose a PIN, register, offer biometrics, write down the deletion code.
///
///     choosing (PF2.9) ──succeeds──▶ biometric enrolled? ──no──▶ secured (1.5) ──Next──▶ code (1.6) ──written down──▶ UC3.1
///        └──Back──▶ (caller)            │ yes                     ▲  ▲              └──no code────────────────────────▲
///                                       ▼                         │  │
///                                  configure (1.3) ──Skip─────────┘  │
///                                       ▲ └──Enable──▶ prompt (1.4) ─┘ confirmed
///                                       └───────rejected────┘
///
/// How far it came is kept before the next screen is shown, so after a crash it goes on with what was not finished: the
/// code is shown until it was confirmed.
struct SetUpRemotePIN: Flow {
    private enum State {
        case choosing
        case registered
        case configuring
        case prompting
        case prompted
        case enabling
        case secured
        case keepingSecured
        case writingDown
        case keepingWrittenDown
    }

    private var state: State

    /// Goes on after what is done already.
    init(from progress: SetupProgress) {
        switch progress {
        case .notStarted: self.state = .choosing
        case .registered: self.state = .registered
        case .secured, .done: self.state = .writingDown
        }
    }

    var place: Place {
        if case .choosing = self.state { .anywhere } else { .behindLock }
    }

    var takesLink: Bool { true }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .choosing: .call(SetUpPIN(.enroll))
        case .registered: snapshot.biometricMode == .off ? self.offerBiometrics(snapshot) : self.showSecured()
        case .writingDown: self.showCode(snapshot)
        case .configuring, .prompting, .prompted, .enabling, .secured, .keepingSecured, .keepingWrittenDown: .stay
        }
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch (self.state, action) {
        case (.configuring, .enable):
            self.state = .prompting
            return .show(.prompting(Self.prompt, at: "UC2.1/1.4", snapshot))
        case (.configuring, .skip):
            return self.showSecured()
        case (.secured, .next):
            self.state = .keepingSecured
            return .ask(.keepProgress(.secured))
        case (.writingDown, .writtenDown):
            self.state = .keepingWrittenDown
            return .ask(.keepProgress(.done))
        case (_, _):
            return .stay
        }
    }

    mutating func present(_ presentation: Presentation, _ snapshot: Snapshot) -> Transition {
        guard case .prompting = self.state else { return .stay }
        self.state = .prompted
        return .ask(.prompt(Self.prompt, presentation))
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.state, answer) {
        case (.prompted, .prompted(.confirmed)):
            self.state = .enabling
            return .ask(.enableBiometrics(Self.prompt.accepts))
        case (.prompted, .prompted), (.prompted, .itemGone):
            return self.configure(snapshot, after: "UC2.1/1.4b")
        case (.enabling, .biometricsChanged):
            return self.showSecured(after: "UC2.1/1.4a")
        case (.keepingSecured, .progressKept):
            self.state = .writingDown
            return self.showCode(snapshot)
        case (.keepingWrittenDown, .progressKept):
            return .goTo(ObtainPID())
        case (_, .failed(.revoked(let revocation))):
            return RevokedWallet.transition(to: revocation)
        case (.prompted, .failed(let failure)), (.enabling, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC2.1/1.4"))
        case (.keepingSecured, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC2.1/1.5"))
        case (.keepingWrittenDown, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC2.1/1.6"))
        case (_, _):
            return .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch (self.state, result) {
        case (.choosing, .succeeded):
            var transition = self.offerBiometrics(snapshot)
            transition.steps.insert("UC2.1/1.1a", at: 0)
            return transition
        case (.choosing, .back):
            return .finish(.returned, after: "UC2.1/1.1b")
        case (.prompted, .tryAgain), (.prompted, .closed), (.enabling, .closed):
            return self.configure(snapshot)
        case (.enabling, .tryAgain):
            return .ask(.enableBiometrics(Self.prompt.accepts))
        case (.keepingSecured, .tryAgain):
            return .ask(.keepProgress(.secured))
        case (.keepingWrittenDown, .tryAgain):
            return .ask(.keepProgress(.done))
        case (_, .closed):
            return .leave(.closed)
        case (_, _):
            return .stay
        }
    }
}

extension SetUpRemotePIN {
    /// The setup offers biometrics only; a passcode can be chosen in the settings (UC2.2/1.7).
    private static let prompt = Prompt(.enable, accepts: .biometric)

    /// 1.2: a sensor that knows nobody could only fail.
    private mutating func offerBiometrics(_ snapshot: Snapshot) -> Transition {
        snapshot.biometrics.isEnrolled
            ? self.configure(snapshot, after: "UC2.1/1.2a") : self.showSecured(after: "UC2.1/1.2b")
    }

    private mutating func configure(_ snapshot: Snapshot, after steps: StepID...) -> Transition {
        self.state = .configuring
        let scene = Scene("UC2.1/1.3", .screen, .configureBiometrics, .wantsBiometrics(snapshot.biometrics))
            .offering((.enable, "UC2.1/1.3a"), (.skip, "UC2.1/1.3b"), (.info, "UC2.1/1.3c"))
        return Transition(.show(scene), steps: steps)
    }

    private mutating func showSecured(after steps: StepID...) -> Transition {
        self.state = .secured
        let scene = Scene("UC2.1/1.5", .screen, .setupConfirmed, .walletSecured).offering((.next, "UC2.1/1.5a"))
        return Transition(.show(scene), steps: steps)
    }

    /// Skips the screen where there is no code: the server's feature is off.
    private mutating func showCode(_ snapshot: Snapshot) -> Transition {
        guard let code = snapshot.deletionCode else {
            self.state = .keepingWrittenDown
            return .ask(.keepProgress(.done))
        }
        return .show(
            Scene("UC2.1/1.6", .screen, .writeDownDeletionCode, .deletionCodePurpose)
                .with(.deletionCode(code))
                .offering((.writtenDown, "UC2.1/1.6a"), (.help, "UC2.1/1.6b"))
        )
    }
}
