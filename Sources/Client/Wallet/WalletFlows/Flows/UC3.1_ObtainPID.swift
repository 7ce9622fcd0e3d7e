internal import Vocabulary

/// UC3.1 Obtain PID: the steps before and after the issuance, which is up to the host application.
///
///     offer (1.1) ──Obtain──▶ hook (1.2) ──obtained──▶ PF2.4 (1.3) ──confirmed──▶ linking (1.4) ──▶ UC7.1
///        ▲                      │ canceled, failed       └──Back──▶ offer             └──denied──▶ UC1.2/6
///        └──────────────────────┘
struct ObtainPID: Flow {
    enum State {
        case starting, offering, obtaining
        case confirming(RecoveryCode)
        case linking(PINEntry, RecoveryCode)
    }

    var state = State.starting

    var place: Place { .behindLock }

    var endsWithLock: Bool {
        switch self.state {
        case .starting, .offering: false
        case .obtaining, .confirming, .linking: true
        }
    }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        // A pending link is rejected before the offer, since there is no identity yet (PF2.7/3).
        case .starting: snapshot.link == nil ? self.to(.offering) : .call(ResolveUniversalLink())
        case .offering:
            .show(
                Dialog("UC3.1/1.1", .screen, .obtainPID, .obtainPIDWhy)
                    .offering(.obtain, "UC3.1/1.1a", self.to(.obtaining))
                    .offeringHelp("UC3.1/1.1b")
            )
        case .obtaining: .ask(.obtainPID)
        case .confirming: .call(ConfirmProtectedAction(isCancelable: false))
        case .linking(let entry, let code): .ask(.linkRecoveryCode(entry, code))
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.starting, .returned(.link)): self.to(.offering)

        case (.obtaining, .answered(.pid(.some(let code)))): self.to(.confirming(code), after: "UC3.1/1.2a")
        case (.obtaining, .answered(.pid(.none))): self.to(.offering, after: "UC3.1/1.2b")

        case (.confirming(let code), .returned(.confirmed(let entry))):
            self.to(.linking(entry, code), after: "UC3.1/1.3a")
        case (.confirming, .returned(.back)): self.to(.offering, after: "UC3.1/1.3b")

        case (.linking, .answered(.recoveryCodeLinked)): .goTo(Dashboard(), after: "UC3.1/1.4a")
        // The PIN was right a moment ago, so another client must have used up attempts since. The PIN has to be
        // confirmed again.
        case (.linking, .answered(.verdict(let verdict))): .call(ValidatePIN(showing: verdict))
        case (.linking(_, let code), .returned(.retry)): self.to(.confirming(code))
        case (.linking, .answered(.failed(.revoked(let revocation)))) where revocation.reason == .recoveryCode:
            .call(ErrorScreen(.revoked(revocation), at: "UC3.1/1.4"), after: "UC3.1/1.4b")
        case (.linking, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "UC3.1/1.4"))
        case (.linking(let entry, let code), .returned(.tryAgain)): self.to(.linking(entry, code))
        case (.linking, .returned(.closed)), (.linking, .returned(.back)): self.to(.offering)

        case (_, .entered), (_, .presented), (.starting, .answered), (.starting, .returned), (.offering, _),
            (.obtaining, .answered), (.obtaining, .returned), (.confirming, .answered), (.confirming, .returned),
            (.linking, .answered), (.linking, .returned):
            .ignored
        }
    }
}
