/// UC2.1 Set up a remote PIN and biometric unlock: choose a PIN, register, write down the deletion code.
///
///     choosing (PF2.9) ──succeeds──▶ secured (1.5) ──Next──▶ code (1.6) ──written down──▶ UC3.1
///        └──Back──▶ (caller)                          └──no code──────────────────────────▲
///
/// How far it came is kept before the next screen is shown, so after a crash it goes on with what was not finished: the
/// code is shown until it was confirmed. No device has a biometric yet, so 1.2 always takes its case b.
struct SetUpRemotePIN: Flow {
    private enum State {
        case choosing
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
        case .registered: self.state = .secured
        case .secured, .done: self.state = .writingDown
        }
    }

    mutating func start(_ facts: Facts) -> Turn {
        switch self.state {
        case .choosing: .call(SetUpPIN(.enroll))
        case .secured: self.decideBiometrics()
        case .writingDown: self.showCode(facts)
        case .keepingSecured, .keepingWrittenDown: .stay
        }
    }

    mutating func resume(after result: FlowResult, _ facts: Facts) -> Turn {
        switch (self.state, result) {
        case (.choosing, .succeeded):
            var turn = self.decideBiometrics()
            turn.steps.insert("UC2.1/1.1a", at: 0)
            return turn
        case (.choosing, .back):
            return .finish(.returned, after: "UC2.1/1.1b")
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

    mutating func select(_ action: ActionID, _ facts: Facts) -> Turn {
        switch (self.state, action) {
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

    mutating func receive(_ answer: Answer, _ facts: Facts) -> Turn {
        switch (self.state, answer) {
        case (.keepingSecured, .progressKept):
            self.state = .writingDown
            return self.showCode(facts)
        case (.keepingWrittenDown, .progressKept):
            return .goTo(ObtainPID())
        case (.keepingSecured, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC2.1/1.5"))
        case (.keepingWrittenDown, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC2.1/1.6"))
        case (_, _):
            return .stay
        }
    }

    private mutating func decideBiometrics() -> Turn {
        self.state = .secured
        let scene = Scene("UC2.1/1.5", .screen, .setupConfirmed, .walletSecured).offering((.next, "UC2.1/1.5a"))
        return .show(scene, after: "UC2.1/1.2b")
    }

    /// Skips the screen where there is no code: the server's feature is off.
    private mutating func showCode(_ facts: Facts) -> Turn {
        guard let code = facts.deletionCode else {
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
