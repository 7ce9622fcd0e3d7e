/// UC2.6 Change PIN: the old PIN, the new one twice, and one instruction that replaces the one by the other.
///
///     confirming (PF2.4) ──▶ choosing (PF2.9) ──▶ done ──Dashboard, Settings──▶ UC7.1
///        └──Back──▶ (caller)    └──Back──▶ (caller)
struct ChangePIN: Flow {
    private enum State {
        case confirming
        case choosing
        case done
    }

    private var state = State.confirming

    mutating func start(_ facts: Facts) -> Turn {
        self.state = .confirming
        return .call(ConfirmProtectedAction())
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
}
