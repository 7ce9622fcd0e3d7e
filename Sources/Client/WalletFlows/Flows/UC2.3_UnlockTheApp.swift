/// UC2.3 Unlock the app, with the PIN.
///
///     entering ──PIN──▶ PF2.8 ──valid──▶ setup unfinished: UC2.1 · no PID: UC3.1 · else: what was there, or UC7.1
///        ▲ │             ├──Retry──▶ entering
///        │ └─Forgot PIN─▶└──Back──▶ entering; from a block: leaves the app
///        └──Back─────────┘
struct UnlockTheApp: Flow {
    /// What follows the unlocking.
    enum Purpose: Sendable {
        /// The app was shut down.
        case enter
        /// It was active; its screen is below.
        case resume
    }

    private enum State {
        case entering
        case validating
        case forgot
    }

    private var state = State.entering
    private let purpose: Purpose

    init(then purpose: Purpose) {
        self.purpose = purpose
    }

    var mayBeCovered: Bool { false }

    mutating func start(_ facts: Facts) -> Turn {
        var turn = self.askPIN()
        turn.steps = ["UC2.3/1.1b"]
        return turn
    }

    mutating func enter(_ input: PINInput, _ facts: Facts) -> Turn {
        switch input {
        case .complete(let entry):
            self.state = .validating
            return .call(ValidatePIN(entry))
        case .malformed:
            return .stay
        }
    }

    mutating func select(_ action: ActionID, _ facts: Facts) -> Turn {
        switch action {
        case .forgotPIN:
            self.state = .forgot
            return .call(ForgotPIN())
        case _:
            return .stay
        }
    }

    mutating func resume(after result: FlowResult, _ facts: Facts) -> Turn {
        switch (self.state, result) {
        case (.validating, .confirmed):
            return self.enterApp(facts)
        case (.validating, .retry):
            return Turn(self.askPIN().next, steps: ["UC2.3/1.4b"])
        case (.validating, .back(whileBlocked: true)):
            return .leave(.suspended, after: "UC2.3/1.4c")
        case (.validating, .back(whileBlocked: false)):
            return Turn(self.askPIN().next, steps: ["UC2.3/1.4c"])
        case (.forgot, .back):
            return self.askPIN()
        case (_, _):
            return .stay
        }
    }

    private mutating func askPIN() -> Turn {
        self.state = .entering
        return .show(
            Scene("UC2.3/1.3", .screen, .openWithPIN, .openWithYourPIN)
                .askingPIN("UC2.3/1.3a")
                .offering((.info, "UC2.3/1.3b"), (.forgotPIN, "UC2.3/1.3c"))
        )
    }

    private func enterApp(_ facts: Facts) -> Turn {
        guard facts.setup == .done else {
            return .goTo(SetUpRemotePIN(from: facts.setup), after: "UC2.3/1.4a")
        }
        switch (self.purpose, facts.hasPID) {
        case (.resume, true):
            return .finish(.unlocked, after: "UC2.3/1.4a", "UC2.3/1.5a", "UC2.3/1.6a", "UC2.3/1.7a")
        case (.enter, true):
            return .goTo(Dashboard(), after: "UC2.3/1.4a", "UC2.3/1.5a", "UC2.3/1.6a", "UC2.3/1.7b")
        case (.resume, false), (.enter, false):
            return .goTo(ObtainPID(), after: "UC2.3/1.4a", "UC2.3/1.5b")
        }
    }
}
