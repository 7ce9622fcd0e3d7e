internal import DeviceInterface
internal import Vocabulary

/// UC2.6 Change PIN: the old PIN, the new one twice, and one instruction that replaces the one by the other.
///
///     (safe mode: prompt) ──▶ confirming (PF2.4) ──▶ choosing (PF2.9) ──▶ done ──Dashboard, Settings──▶ UC7.1
///        └──rejected──▶ (caller)  └──Back──▶ (caller)    └──Back──▶ (caller)
///
/// In safe mode the PIN slot is sealed under the keychain item, so the prompt that opens it comes first (SB11).
struct ChangePIN: Flow {
    private enum State {
        case prompting
        case prompted
        case confirming
        case choosing
        case done
    }

    private var state = State.confirming

    var place: Place { .behindLock }
    var endsWithLock: Bool { true }

    mutating func start(_ facts: Facts) -> Turn {
        facts.biometricMode == .safe ? self.prompt(facts) : self.confirm()
    }

    mutating func present(_ presentation: Presentation, _ facts: Facts) -> Turn {
        guard case .prompting = self.state else { return .stay }
        self.state = .prompted
        return .ask(.prompt(Self.prompt(facts), presentation))
    }

    mutating func receive(_ answer: Answer, _ facts: Facts) -> Turn {
        switch (self.state, answer) {
        case (.prompted, .prompted(.confirmed)): self.confirm(after: "UC2.2/1.3a")
        case (.prompted, .prompted), (.prompted, .itemGone): .finish(.returned, after: "UC2.2/1.3b")
        case (.prompted, .failed(.revoked(let revocation))): RevokedWallet.turn(to: revocation)
        case (.prompted, .failed(let failure)): .call(ErrorScreen(failure, at: "UC2.2/1.3"))
        case (_, _): .stay
        }
    }

    mutating func resume(after result: FlowResult, _ facts: Facts) -> Turn {
        switch (self.state, result) {
        case (.confirming, .confirmed(let old)):
            self.state = .choosing
            return .call(SetUpPIN(.change(old: old)), after: "UC2.6/1.1a")
        case (.confirming, .back):
            return .finish(.returned, after: "UC2.6/1.1b")
        case (.choosing, .succeeded):
            self.state = .done
            return .show(
                Scene("UC2.6/1.3", .screen, .pinChanged, .useNewPIN)
                    .offering((.dashboard, "UC2.6/1.3a"), (.settings, "UC2.6/1.3b")),
                after: "UC2.6/1.2a"
            )
        case (.choosing, .back):
            return .finish(.returned, after: "UC2.6/1.2b")
        case (.prompted, .tryAgain):
            return self.prompt(facts)
        case (.prompted, .closed):
            return .finish(.returned)
        case (_, _):
            return .stay
        }
    }

    mutating func select(_ action: ActionID, _ facts: Facts) -> Turn {
        switch action {
        case .dashboard: .goTo(Dashboard())
        case .settings: .goTo(Dashboard(at: .settings))
        case _: .stay
        }
    }

    private static func prompt(_ facts: Facts) -> Prompt {
        Prompt(.changePIN, accepts: facts.unlockMethod)
    }

    private mutating func prompt(_ facts: Facts) -> Turn {
        self.state = .prompting
        return .show(.prompting(Self.prompt(facts), at: "UC2.2/1.3", facts))
    }

    private mutating func confirm(after steps: StepID...) -> Turn {
        self.state = .confirming
        return Turn(.call(ConfirmProtectedAction()), steps: steps)
    }
}
