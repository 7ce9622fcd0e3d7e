/// PF2.4 Confirm a protected action: asks for the PIN, then checks the wallet's status and the update policy.
///
///     entering ──PIN──▶ PF2.8 ──valid──▶ asking the status ──active──▶ PF1.4 ──allowed──▶ confirmed
///        ▲ │             ├──Retry──▶ entering      └──revoked──▶ RevokedWallet
///        │ └─Forgot PIN  └──Back──▶ back
///        └─Back, Cancel──▶ back
struct ConfirmProtectedAction: Flow {
    enum State {
        case entering
        case forgot
        case validating
        case askingStatus(PINEntry)
        case applyingPolicy(PINEntry)
    }

    var state = State.entering
    private let isCancelable: Bool

    /// If `isCancelable` is true, Cancel is offered in addition to Back.
    init(isCancelable: Bool = true) {
        self.isCancelable = isCancelable
    }

    var restart: (any Flow)? { ConfirmProtectedAction(isCancelable: self.isCancelable) }

    var endsWithLock: Bool {
        switch self.state {
        case .entering, .forgot: false
        case .validating, .askingStatus, .applyingPolicy: true
        }
    }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .entering: .show(self.pinScreen(snapshot))
        case .forgot: .call(ForgotPIN())
        case .validating: .ignored
        case .askingStatus: .ask(.askStatus)
        case .applyingPolicy: .call(ApplyUpdatePolicy())
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.entering, .entered(let input)): self.validate(input, in: .validating)
        case (.forgot, .returned(.back)): self.to(.entering)
        case (.validating, .returned(.confirmed(let entry))):
            self.to(.askingStatus(entry), after: "PF2.4/1.2a", "PF2.4/1.3")
        case (.validating, .returned(.retry)): self.to(.entering, after: "PF2.4/1.2b")
        case (.validating, .returned(.back(let whileBlocked))):
            .finish(.back(whileBlocked: whileBlocked), after: "PF2.4/1.2c")

        case (.askingStatus(let entry), .answered(.status(.active))):
            self.to(.applyingPolicy(entry), after: "PF2.4/1.4")
        case (.askingStatus, .answered(.status(.revoked(let revocation)))): RevokedWallet.transition(to: revocation)
        case (.askingStatus, .answered(.status(.mustEnrollAnew))): OpenTheApp.introduce
        case (.askingStatus, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "PF2.4/1.3"))
        case (.askingStatus, .returned(.tryAgain)): .ask(.askStatus)
        case (.askingStatus, .returned(.closed)): .finish(.back(whileBlocked: false))
        case (.applyingPolicy(let entry), .returned(.allowed)): .finish(.confirmed(entry))

        case (_, .presented), (.entering, .answered), (.entering, .returned),
            (.forgot, .entered), (.forgot, .answered), (.forgot, .returned),
            (.validating, .entered), (.validating, .answered), (.validating, .returned),
            (.askingStatus, .entered), (.askingStatus, .answered), (.askingStatus, .returned),
            (.applyingPolicy, .entered), (.applyingPolicy, .answered), (.applyingPolicy, .returned):
            .ignored
        }
    }

    private func pinScreen(_ snapshot: Snapshot) -> Dialog {
        let back = Transition.finish(.back(whileBlocked: false))
        let dialog = Dialog("PF2.4/1.1", .screen, .confirmWithPIN, .confirmWithYourPIN)
            .askingPIN("PF2.4/1.1a", snapshot)
            .offering(.back, "PF2.4/1.1b", back)
        return (self.isCancelable ? dialog.offering(.cancel, "PF2.4/1.1c", back) : dialog)
            .offering(.forgotPIN, "PF2.4/1.1d", self.to(.forgot))
            .offeringHelp("PF2.4/1.1e")
    }
}
