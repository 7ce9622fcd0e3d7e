/// PF2.4 Confirm a protected action: asks for the PIN, then checks the wallet's status and the update policy.
///
///     entering ──PIN──▶ PF2.8 ──valid──▶ asking the status ──active──▶ PF1.4 ──allowed──▶ confirmed
///        ▲ │             ├──Retry──▶ entering      └──revoked──▶ RevokedWallet
///        │ └─Forgot PIN  └──Back──▶ back
///        └─Back, Cancel──▶ back
///
/// An action of the host application can be confirmed with the phone's prompt instead, if the host has chosen so and
/// the wallet is in the safe mode:
///
///     reviewing (1.5) ──Confirm──▶ prompting (1.6) ──slot opened──▶ asking the status, as above
///        ▲ └──Cancel──▶ back         │   │   └──slot opened, but the safe mode has ended──▶ entering
///        └──not recognized───────────┘   └──dismissed or not possible──▶ back
///
/// The screen comes before the prompt, because a face prompt is confirmed by looking at the phone, and may not show the
/// details.
struct ConfirmProtectedAction: Flow {
    enum State {
        case starting
        case reviewing(isRepeated: Bool)
        case prompting, opening, entering, forgot, validating
        case askingStatus(Proof)
        case applyingPolicy(Proof)
    }

    /// The means with which the user has confirmed.
    ///
    /// Invariant: a prompt confirms only actions of the host. All others send an instruction, which requires the PIN's
    /// entry.
    enum Proof {
        case pin(PINEntry)
        case prompt

        var result: FlowResult {
            switch self {
            case .pin(let entry): .confirmed(entry)
            case .prompt: .confirmedByPrompt
            }
        }
    }

    var state: State
    private let isCancelable: Bool
    /// The host's texts, or nil for an action of the wallet itself.
    private let confirmation: ConfirmationRequest?

    /// If `isCancelable` is true, Cancel is offered in addition to Back.
    init(isCancelable: Bool = true) {
        self.state = .entering
        self.isCancelable = isCancelable
        self.confirmation = nil
    }

    /// Confirms an action of the host application.
    init(of confirmation: ConfirmationRequest) {
        self.state = .starting
        self.isCancelable = true
        self.confirmation = confirmation
    }

    var restart: (any Flow)? { ConfirmProtectedAction(isCancelable: self.isCancelable) }

    var endsWithLock: Bool {
        switch self.state {
        case .entering, .forgot: false
        case .starting, .reviewing, .prompting, .opening, .validating, .askingStatus, .applyingPolicy: true
        }
    }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .starting: self.to(snapshot.confirmsWithPrompt ? .reviewing(isRepeated: false) : .entering)
        case .reviewing(let isRepeated): .show(self.reviewScreen(isRepeated: isRepeated))
        case .prompting: .show(.prompting(Prompt(.confirm, accepts: snapshot.unlockMethod), at: "PF2.4/1.6", snapshot))
        case .entering: .show(self.pinScreen(snapshot))
        case .forgot: .call(ForgotPIN())
        case .opening, .validating: .ignored
        case .askingStatus: .ask(.askStatus)
        case .applyingPolicy: .call(ApplyUpdatePolicy())
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.entering, .entered(let input)): self.validate(input, in: .validating)
        case (.forgot, .returned(.back)): self.to(.entering)
        case (.validating, .returned(.confirmed(let entry))):
            self.to(.askingStatus(.pin(entry)), after: "PF2.4/1.2a", "PF2.4/1.3")
        case (.validating, .returned(.retry)): self.to(.entering, after: "PF2.4/1.2b")
        case (.validating, .returned(.back(let whileBlocked))):
            .finish(.back(whileBlocked: whileBlocked), after: "PF2.4/1.2c")

        case (.prompting, .presented(let presentation)): self.to(.opening, .ask(.confirmWithBiometrics(presentation)))
        case (.opening, .answered(.prompted(let result))): self.judge(result, snapshot)
        case (.opening, .answered(.itemGone)): self.declined
        // A permanently blocked wallet does not get a presence share.
        case (.opening, .answered(.verdict(let verdict))): .call(ValidatePIN(showing: verdict))
        case (.opening, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "PF2.4/1.6"))
        case (.opening, .returned(.tryAgain)): self.to(.prompting)
        case (.opening, .returned(.closed)), (.opening, .returned(.retry)), (.opening, .returned(.back)):
            .finish(.back(whileBlocked: false))

        case (.askingStatus(let proof), .answered(.status(.active))):
            self.to(.applyingPolicy(proof), after: "PF2.4/1.4")
        case (.askingStatus, .answered(.status(.revoked(let revocation)))): RevokedWallet.transition(to: revocation)
        case (.askingStatus, .answered(.status(.mustEnrollAnew))): OpenTheApp.introduce
        case (.askingStatus, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "PF2.4/1.3"))
        case (.askingStatus, .returned(.tryAgain)): .ask(.askStatus)
        case (.askingStatus, .returned(.closed)): .finish(.back(whileBlocked: false))
        case (.applyingPolicy(let proof), .returned(.allowed)): .finish(proof.result)

        case (.starting, _), (.reviewing, _), (_, .presented), (.prompting, .entered), (.prompting, .answered),
            (.prompting, .returned), (.opening, .entered), (.opening, .answered), (.opening, .returned),
            (.entering, .answered), (.entering, .returned),
            (.forgot, .entered), (.forgot, .answered), (.forgot, .returned),
            (.validating, .entered), (.validating, .answered), (.validating, .returned),
            (.askingStatus, .entered), (.askingStatus, .answered), (.askingStatus, .returned),
            (.applyingPolicy, .entered), (.applyingPolicy, .answered), (.applyingPolicy, .returned):
            .ignored
        }
    }

    private func pinScreen(_ snapshot: Snapshot) -> Dialog {
        let back = Transition.finish(.back(whileBlocked: false))
        let message = self.details.map(Text.givenWithPIN) ?? .confirmWithYourPIN
        let dialog = Dialog("PF2.4/1.1", .screen, self.title, message)
            .askingPIN("PF2.4/1.1a", snapshot)
            .offering(.back, "PF2.4/1.1b", back)
        return (self.isCancelable ? dialog.offering(.cancel, "PF2.4/1.1c", back) : dialog)
            .offering(.forgotPIN, "PF2.4/1.1d", self.to(.forgot))
            .offeringHelp("PF2.4/1.1e")
    }

    private var title: Text { self.confirmation.map { .given($0.title) } ?? .confirmWithPIN }

    private var details: String? { self.confirmation.flatMap { $0.details.isEmpty ? nil : $0.details } }
}

// MARK: - The prompt

extension ConfirmProtectedAction {
    private func reviewScreen(isRepeated: Bool) -> Dialog {
        let dialog = Dialog("PF2.4/1.5", .screen, self.title, self.details.map(Text.given))
            .offering(.confirm, "PF2.4/1.5a", self.to(.prompting))
            .offering(.cancel, "PF2.4/1.5b", .finish(.back(whileBlocked: false)))
            .offeringHelp("PF2.4/1.5c")
        return isRepeated ? dialog.because(.biometricNotAccepted) : dialog
    }

    /// Returns the transition for the result of the prompt.
    ///
    /// `confirmed` means that a new session's presence share and the keychain item have opened the slot.
    ///
    /// Invariant: if that session has withdrawn the flag for the safe mode, the prompt no longer confirms anything.
    private func judge(_ result: PromptResult, _ snapshot: Snapshot) -> Transition {
        switch result {
        case .confirmed where snapshot.confirmsWithPrompt:
            self.to(.askingStatus(.prompt), after: "PF2.4/1.6a", "PF2.4/1.3")
        case .confirmed: self.to(.entering, after: "PF2.4/1.6d")
        case .rejected: self.to(.reviewing(isRepeated: true), after: "PF2.4/1.6b")
        case .cancelled, .lockedOut, .unavailable: self.declined
        }
    }

    private var declined: Transition { .finish(.back(whileBlocked: false), after: "PF2.4/1.6c") }
}
