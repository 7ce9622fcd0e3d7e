/// UC2.6 Change PIN: asks for the old PIN, then the new one twice, and replaces it with a single instruction.
///
///     (safe mode: prompt) ──▶ confirming (PF2.4) ──▶ choosing (PF2.9) ──▶ done ──Dashboard, Settings──▶ UC7.1
///        └──rejected──▶ (caller)  └──Back──▶ (caller)    └──Back──▶ (caller)
///
/// In the safe mode, the PIN slot is sealed under the keychain item, so the prompt that opens it comes first (SB11).
struct ChangePIN: Flow {
    enum State {
        case starting, prompting, prompted, confirming, choosing, done
    }

    var state = State.starting

    var place: Place { .behindLock }
    var restart: (any Flow)? { ChangePIN() }

    var endsWithLock: Bool {
        switch self.state {
        case .starting, .prompting, .prompted, .confirming, .choosing: true
        case .done: false
        }
    }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .starting: self.to(snapshot.biometricMode == .safe ? .prompting : .confirming)
        case .prompting: .show(.prompting(Self.prompt(snapshot), at: "UC2.2/1.3", snapshot))
        case .confirming: .call(ConfirmProtectedAction())
        case .done:
            .show(
                Dialog("UC2.6/1.3", .screen, .pinChanged, .useNewPIN)
                    .offering(.dashboard, "UC2.6/1.3a", .goTo(Dashboard()))
                    .offering(.settings, "UC2.6/1.3b", .goTo(Dashboard(state: .settings)))
            )
        case .prompted, .choosing: .ignored
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.prompting, .presented(let presentation)):
            self.to(.prompted, .ask(.prompt(Self.prompt(snapshot), presentation)))
        case (.prompted, .answered(.prompted(.confirmed))): self.to(.confirming, after: "UC2.2/1.3a")
        case (.prompted, .answered(.prompted)), (.prompted, .answered(.itemGone)):
            .finish(.returned, after: "UC2.2/1.3b")
        case (.prompted, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "UC2.2/1.3"))
        case (.prompted, .returned(.tryAgain)): self.to(.prompting)
        case (.prompted, .returned(.closed)): .finish(.returned)

        case (.confirming, .returned(.confirmed(let old))):
            self.to(.choosing, .call(SetUpPIN(.change(old: old))), after: "UC2.6/1.1a")
        case (.confirming, .returned(.back)): .finish(.returned, after: "UC2.6/1.1b")
        case (.choosing, .returned(.succeeded)): self.to(.done, after: "UC2.6/1.2a")
        case (.choosing, .returned(.back)): .finish(.returned, after: "UC2.6/1.2b")

        case (_, .entered), (.starting, _), (.done, _), (.prompting, .answered), (.prompting, .returned),
            (.prompted, .presented), (.prompted, .answered), (.prompted, .returned),
            (.confirming, .presented), (.confirming, .answered), (.confirming, .returned),
            (.choosing, .presented), (.choosing, .answered), (.choosing, .returned):
            .ignored
        }
    }

    private static func prompt(_ snapshot: Snapshot) -> Prompt {
        Prompt(.changePIN, accepts: snapshot.unlockMethod)
    }
}
