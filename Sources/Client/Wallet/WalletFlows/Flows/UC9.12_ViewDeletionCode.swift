internal import Vocabulary

/// UC9.12 View the deletion code: asks for the PIN and shows the code, which is stored on the server but not in the
/// wallet.
///
///     confirming (PF2.4) ──▶ asking ──▶ code ──Back──▶ (caller)
///        └──Back──▶ (caller)   └──error── Close──▶ (caller)
struct ViewDeletionCode: Flow {
    enum State {
        case confirming
        case asking(PINEntry)
        case code(DeletionCode)
    }

    var state = State.confirming

    var place: Place { .behindLock }
    var restart: (any Flow)? { ViewDeletionCode() }

    var endsWithLock: Bool {
        switch self.state {
        case .confirming: false
        case .asking, .code: true
        }
    }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .confirming: .call(ConfirmProtectedAction())
        case .asking(let entry): .ask(.showDeletionCode(entry))
        case .code(let code):
            .show(
                Dialog("UC9.12/1.2", .screen, .deletionCode, .deletionCodePurpose)
                    .with(.deletionCode(code))
                    .offering(.back, "UC9.12/1.2a", .finish(.returned))
            )
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.confirming, .returned(.confirmed(let entry))): self.to(.asking(entry), after: "UC9.12/1.1a")
        case (.confirming, .returned(.back)): .finish(.returned, after: "UC9.12/1.1b")

        case (.asking, .answered(.deletionCode(let code))): self.to(.code(code))
        case (.asking, .answered(.verdict(let verdict))): .call(ValidatePIN(showing: verdict))
        case (.asking, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "UC9.12/1.2"))
        case (.asking(let entry), .returned(.tryAgain)): self.to(.asking(entry))
        case (.asking, .returned(.closed)), (.asking, .returned(.retry)), (.asking, .returned(.back)):
            .finish(.returned)

        case (_, .entered), (_, .presented), (.code, _), (.confirming, .answered), (.confirming, .returned),
            (.asking, .answered), (.asking, .returned):
            .ignored
        }
    }
}
