internal import Vocabulary

/// UC2.1 Set up a remote PIN and biometric unlock: PIN, registration, biometrics, and deletion code.
///
///     choosing (PF2.9) ──succeeds──▶ enrolled? ──no──▶ secured (1.5) ──Next──▶ code (1.6) ──written down──▶ UC3.1
///        └──Back──▶ (caller)            │ yes            ▲  ▲              └──no code────────────────────────▲
///                                       ▼                │  │
///                              configuring (1.3) ──Skip──┘  │
///                                   ▲ └──Enable──▶ prompt ──┘ confirmed
///                                   └──rejected──── (1.4)
///
/// The progress is stored before the next screen is shown, so the setup continues with the unfinished step after a
/// crash. The code is shown until the user has confirmed having written it down.
struct SetUpRemotePIN: Flow {
    enum State {
        case choosing
        case registered
        case configuring
        case prompting, prompted, enabling, secured, keepingSecured, writingDown, keepingWrittenDown
    }

    var state: State

    /// Skips the steps that are already done.
    init(from progress: SetupProgress) {
        switch progress {
        case .notStarted: self.state = .choosing
        case .registered: self.state = .registered
        case .secured, .done: self.state = .writingDown
        }
    }

    /// The setup only offers biometrics.
    ///
    /// A passcode can be chosen in the settings (UC2.2/1.7).
    private static let prompt = Prompt(.enable, accepts: .biometric)

    var place: Place {
        if case .choosing = self.state { .anywhere } else { .behindLock }
    }

    var takesLink: Bool { true }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .choosing: .call(SetUpPIN(.enroll))
        case .registered: self.offerBiometrics(snapshot)
        case .configuring:
            .show(
                Dialog("UC2.1/1.3", .screen, .configureBiometrics, .wantsBiometrics(snapshot.biometrics))
                    .offering(.enable, "UC2.1/1.3a", self.to(.prompting))
                    .offering(.skip, "UC2.1/1.3b", self.to(.secured))
                    .offeringInfo("UC2.1/1.3c")
            )
        case .prompting: .show(.prompting(Self.prompt, at: "UC2.1/1.4", snapshot))
        case .prompted: .ignored
        case .enabling: .ask(.enableBiometrics(Self.prompt.accepts))
        case .secured:
            .show(
                Dialog("UC2.1/1.5", .screen, .setupConfirmed, .walletSecured)
                    .offering(.next, "UC2.1/1.5a", self.to(.keepingSecured))
            )
        case .keepingSecured: .ask(.keepProgress(.secured))
        case .writingDown: self.showCode(snapshot)
        case .keepingWrittenDown: .ask(.keepProgress(.done))
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.choosing, .returned(.succeeded)): self.to(.registered, after: "UC2.1/1.1a")
        case (.choosing, .returned(.back)): .finish(.returned, after: "UC2.1/1.1b")

        case (.prompting, .presented(let presentation)): self.to(.prompted, .ask(.prompt(Self.prompt, presentation)))
        case (.prompted, .answered(.prompted(.confirmed))): self.to(.enabling)
        case (.prompted, .answered(.prompted)), (.prompted, .answered(.itemGone)):
            self.to(.configuring, after: "UC2.1/1.4b")
        case (.enabling, .answered(.biometricsChanged)): self.to(.secured, after: "UC2.1/1.4a")
        case (.prompted, .answered(.failed(let failure))), (.enabling, .answered(.failed(let failure))):
            .call(ErrorScreen(failure, at: "UC2.1/1.4"))
        case (.enabling, .returned(.tryAgain)): self.to(.enabling)
        case (.prompted, .returned(.tryAgain)), (.prompted, .returned(.closed)), (.enabling, .returned(.closed)):
            self.to(.configuring)

        case (.keepingSecured, .answered(.progressKept)): self.to(.writingDown)
        case (.keepingSecured, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "UC2.1/1.5"))
        case (.keepingSecured, .returned(.tryAgain)): self.to(.keepingSecured)

        case (.keepingWrittenDown, .answered(.progressKept)): .goTo(ObtainPID())
        case (.keepingWrittenDown, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "UC2.1/1.6"))
        case (.keepingWrittenDown, .returned(.tryAgain)): self.to(.keepingWrittenDown)
        case (.keepingSecured, .returned(.closed)), (.keepingWrittenDown, .returned(.closed)): .leave(.closed)

        case (_, .entered), (.registered, _), (.configuring, _), (.secured, _), (.writingDown, _),
            (.choosing, .presented), (.choosing, .answered), (.choosing, .returned),
            (.prompting, .answered), (.prompting, .returned),
            (.prompted, .presented), (.prompted, .answered), (.prompted, .returned),
            (.enabling, .presented), (.enabling, .answered), (.enabling, .returned),
            (.keepingSecured, .presented), (.keepingSecured, .answered), (.keepingSecured, .returned),
            (.keepingWrittenDown, .presented), (.keepingWrittenDown, .answered), (.keepingWrittenDown, .returned):
            .ignored
        }
    }

    /// 1.2: skipped if no biometric is enrolled, because the prompt could only fail.
    private func offerBiometrics(_ snapshot: Snapshot) -> Transition {
        guard snapshot.biometricMode == .off else { return self.to(.secured) }
        return snapshot.biometrics.isEnrolled
            ? self.to(.configuring, after: "UC2.1/1.2a") : self.to(.secured, after: "UC2.1/1.2b")
    }

    /// Skips the screen if the wallet has no code because the server does not offer this feature.
    private func showCode(_ snapshot: Snapshot) -> Transition {
        guard let code = snapshot.deletionCode else { return self.to(.keepingWrittenDown) }
        return .show(
            Dialog("UC2.1/1.6", .screen, .writeDownDeletionCode, .deletionCodePurpose)
                .with(.deletionCode(code))
                .offering(.writtenDown, "UC2.1/1.6a", self.to(.keepingWrittenDown))
                .offeringHelp("UC2.1/1.6b")
        )
    }
}
