internal import Vocabulary

/// UC1.2/4 to 7: the screens for a revoked wallet, depending on the reason for the revocation.
///
/// No other part of the app can be reached from here. If the app is open when it finds out about the revocation, it
/// locks itself first.
///
///     locking ──▶ message
///     message ──To help desk──▶ contact ──Call──▶ (the phone)
///        │  ▲                      └──Back──▶ message
///        │  └──Back── more information ◀──Read more── (solution)
///        └──Create new (wallet id)──▶ UC9.4, then UC1.1
struct RevokedWallet: Flow {
    enum State {
        case locking, message, contact, moreInformation
    }

    var state = State.locking
    private let revocation: Revocation

    private init(_ revocation: Revocation) { self.revocation = revocation }

    /// Returns the transition to the revocation's screen, for any flow that finds out about it.
    static func transition(to revocation: Revocation) -> Transition {
        let flow = RevokedWallet(revocation)
        return switch revocation.reason {
        case .user: .goTo(flow, after: "UC1.2/2.4b")
        case .wallet: .goTo(flow, after: "UC1.2/2.4c")
        case .recoveryCode: .goTo(flow, after: "UC1.2/2.4d")
        case .solution: .goTo(flow, after: "UC1.2/2.4e")
        }
    }

    var place: Place { .beforeLock }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .locking where !snapshot.isLocked: .ask(.lock)
        case .locking: self.to(.message)
        case .message: .show(self.message.because(.revoked))
        case .contact: .show(self.contact.because(.revoked))
        case .moreInformation:
            .show(Dialog("UC1.2/7.2", .screen, .moreInformation).offering(.back, "UC1.2/7.2a", self.to(.message)))
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.locking, .answered(.locked)), (.locking, .answered(.failed)): self.to(.message)
        case (_, .entered), (_, .presented), (.locking, .answered), (.locking, .returned), (.message, _), (.contact, _),
            (.moreInformation, _):
            .ignored
        }
    }

    private var message: Dialog {
        switch self.revocation.reason {
        case .user:
            Dialog(
                "UC1.2/4.1",
                .screen,
                .walletDeleted,
                .walletDeletedByUser(withCode: self.revocation.withDeletionCode)
            )
            .offering(.toHelpDesk, "UC1.2/4.1a", self.to(.contact))
            .offeringHelp("UC1.2/4.1b")
        case .wallet:
            Dialog("UC1.2/5.1", .screen, .walletBlocked, .walletBlockedCreateNew)
                .offering(.createNewWallet, "UC1.2/5.1c", .call(WipeAppData(confirmed: true)))
                .offering(.toHelpDesk, "UC1.2/5.1a", self.to(.contact))
                .offeringHelp("UC1.2/5.1b")
        case .recoveryCode:
            Dialog("UC1.2/6.1", .screen, .personBlocked, .cannotUseNow)
                .offering(.toHelpDesk, "UC1.2/6.1a", self.to(.contact))
                .offeringHelp("UC1.2/6.1b")
        case .solution:
            Dialog("UC1.2/7.1", .screen, .solutionRevoked, .technicalProblem)
                .offering(.readMore, "UC1.2/7.1a", self.to(.moreInformation))
                .offeringHelp("UC1.2/7.1b")
        }
    }

    private var contact: Dialog {
        switch self.revocation.reason {
        case .user: self.contact("UC1.2/4.2", call: "UC1.2/4.2a", back: "UC1.2/4.2b")
        case .wallet: self.contact("UC1.2/5.2", call: "UC1.2/5.2a", back: "UC1.2/5.2b")
        case .recoveryCode, .solution: self.contact("UC1.2/6.2", call: "UC1.2/6.2a", back: "UC1.2/6.2b")
        }
    }

    private func contact(_ step: StepID, call: StepID, back: StepID) -> Dialog {
        Dialog(step, .screen, .contact, .contactUs)
            .offering(.call, call, .leave(.suspended))
            .offering(.back, back, self.to(.message))
    }
}
