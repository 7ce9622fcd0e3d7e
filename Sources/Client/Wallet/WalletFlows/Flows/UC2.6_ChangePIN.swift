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

    mutating func start(_ snapshot: Snapshot) -> Transition {
        snapshot.biometricMode == .safe ? self.prompt(snapshot) : self.confirm()
    }

    mutating func present(_ presentation: Presentation, _ snapshot: Snapshot) -> Transition {
        guard case .prompting = self.state else { return .stay }
        self.state = .prompted
        return .ask(.prompt(Self.prompt(snapshot), presentation))
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.state, answer) {
        case (.prompted, .prompted(.confirmed)): self.confirm(after: "UC2.2/1.3a")
        case (.prompted, .prompted), (.prompted, .itemGone): .finish(.returned, after: "UC2.2/1.3b")
        case (.prompted, .failed(.revoked(let revocation))): RevokedWallet.transition(to: revocation)
        case (.prompted, .failed(let failure)): .call(ErrorScreen(failure, at: "UC2.2/1.3"))
        case (_, _): .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
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
            return self.prompt(snapshot)
        case (.prompted, .closed):
            return .finish(.returned)
        case (_, _):
            return .stay
        }
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .dashboard: .goTo(Dashboard())
        case .settings: .goTo(Dashboard(at: .settings))
        case _: .stay
        }
    }

    private static func prompt(_ snapshot: Snapshot) -> Prompt {
        Prompt(.changePIN, accepts: snapshot.unlockMethod)
    }

    private mutating func prompt(_ snapshot: Snapshot) -> Transition {
        self.state = .prompting
        return .show(.prompting(Self.prompt(snapshot), at: "UC2.2/1.3", snapshot))
    }

    private mutating func confirm(after steps: StepID...) -> Transition {
        self.state = .confirming
        return Transition(.call(ConfirmProtectedAction()), steps: steps)
    }
}
