/// PF2.4 Confirm a protected action: the PIN, then the wallet's status, then the update policy.
///
///     entering ──PIN──▶ PF2.8 ──valid──▶ asking the status ──active──▶ PF1.4 ──allowed──▶ confirmed
///        ▲ │             ├──Retry──▶ entering      └──revoked──▶ RevokedWallet
///        │ └─Forgot PIN  └──Back──▶ back
///        └─Back, Cancel──▶ back
struct ConfirmProtectedAction: Flow {
    private enum State {
        case entering
        case validating
        case askingStatus(PINEntry)
        case applyingPolicy(PINEntry)
        case forgot
    }

    private var state = State.entering
    private let isCancelable: Bool

    /// `isCancelable` where Cancel is offered beside Back.
    init(isCancelable: Bool = true) {
        self.isCancelable = isCancelable
    }

    var endsWithLock: Bool {
        switch self.state {
        case .entering, .forgot: false
        case .validating, .askingStatus, .applyingPolicy: true
        }
    }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        self.askPIN()
    }

    mutating func enter(_ input: PINInput, _ snapshot: Snapshot) -> Transition {
        switch input {
        case .complete(let entry):
            self.state = .validating
            return .call(ValidatePIN(entry))
        case .malformed:
            return .stay
        }
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .back, .cancel:
            return .finish(.back(whileBlocked: false))
        case .forgotPIN:
            self.state = .forgot
            return .call(ForgotPIN())
        case _:
            return .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch (self.state, result) {
        case (.validating, .confirmed(let entry)):
            self.state = .askingStatus(entry)
            return .ask(.askStatus, after: "PF2.4/1.2a", "PF2.4/1.3")
        case (.validating, .retry):
            return Transition(self.askPIN().next, steps: ["PF2.4/1.2b"])
        case (.validating, .back(let whileBlocked)):
            return .finish(.back(whileBlocked: whileBlocked), after: "PF2.4/1.2c")
        case (.forgot, .back):
            return self.askPIN()
        case (.askingStatus, .tryAgain):
            return .ask(.askStatus)
        case (.askingStatus, .closed):
            return .finish(.back(whileBlocked: false))
        case (.applyingPolicy(let entry), .allowed):
            return .finish(.confirmed(entry))
        case (_, _):
            return .stay
        }
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.state, answer) {
        case (.askingStatus(let entry), .status(.active)):
            self.state = .applyingPolicy(entry)
            return .call(ApplyUpdatePolicy(), after: "PF2.4/1.4")
        case (.askingStatus, .status(.revoked(let revocation))), (.askingStatus, .failed(.revoked(let revocation))):
            return RevokedWallet.transition(to: revocation)
        case (.askingStatus, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "PF2.4/1.3"))
        case (_, _):
            return .stay
        }
    }

    private mutating func askPIN() -> Transition {
        self.state = .entering
        var scene = Scene("PF2.4/1.1", .screen, .confirmWithPIN, .confirmWithYourPIN)
            .askingPIN("PF2.4/1.1a")
            .offering((.back, "PF2.4/1.1b"))
        if self.isCancelable { scene = scene.offering((.cancel, "PF2.4/1.1c")) }
        return .show(scene.offering((.forgotPIN, "PF2.4/1.1d"), (.help, "PF2.4/1.1e")))
    }
}
