internal import Vocabulary

/// UC9.12 View the deletion code: the PIN, then the code, which the server keeps and the wallet does not.
///
///     confirming (PF2.4) ──▶ asking ──▶ code ──Back──▶ (caller)
///        └──Back──▶ (caller)   └──error──▶ failed ──Close──▶ (caller)
struct ViewDeletionCode: Flow {
    private enum State {
        case confirming
        case asking(PINEntry)
        case code
    }

    private var state = State.confirming

    var place: Place { .behindLock }

    var endsWithLock: Bool {
        switch self.state {
        case .confirming: false
        case .asking, .code: true
        }
    }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        self.state = .confirming
        return .call(ConfirmProtectedAction())
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch (self.state, result) {
        case (.confirming, .confirmed(let entry)):
            self.state = .asking(entry)
            return .ask(.showDeletionCode(entry), after: "UC9.12/1.1a")
        case (.confirming, .back):
            return .finish(.returned, after: "UC9.12/1.1b")
        case (.asking(let entry), .tryAgain):
            return .ask(.showDeletionCode(entry))
        case (.asking, .closed), (.asking, .retry), (.asking, .back):
            return .finish(.returned)
        case (_, _):
            return .stay
        }
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.state, answer) {
        case (.asking, .deletionCode(let code)):
            self.state = .code
            return .show(
                Scene("UC9.12/1.2", .screen, .deletionCode, .deletionCodePurpose)
                    .with(.deletionCode(code))
                    .offering((.back, "UC9.12/1.2a"))
            )
        case (.asking, .verdict(let verdict)):
            return .call(ValidatePIN(showing: verdict))
        case (.asking, .failed(.revoked(let revocation))):
            return RevokedWallet.transition(to: revocation)
        case (.asking, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC9.12/1.2"))
        case (_, _):
            return .stay
        }
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .back: .finish(.returned)
        case _: .stay
        }
    }
}
