internal import Vocabulary

/// UC1.2/4 to 7: what a revoked wallet shows, by who revoked it.
///
/// Nothing else of the app can be reached from here.
///
///     message ──To help desk──▶ contact ──Call──▶ (the phone)
///        │  ▲                      └──Back──▶ message
///        │  └──Back── more information ◀──Read more── (solution)
///        └──Create new (wallet id)──▶ UC9.4, then UC1.1
struct RevokedWallet: Flow {
    private enum State {
        case message
        case contact
        case moreInformation
    }

    private var state = State.message
    private let reason: Revocation.Reason

    init(_ reason: Revocation.Reason) {
        self.reason = reason
    }

    /// From wherever a revocation is learned of, to its screen.
    static func transition(to revocation: Revocation) -> Transition {
        switch revocation.reason {
        case .user: .goTo(RevokedWallet(.user), after: "UC1.2/2.4b")
        case .wallet: .goTo(RevokedWallet(.wallet), after: "UC1.2/2.4c")
        case .recoveryCode: .goTo(RevokedWallet(.recoveryCode), after: "UC1.2/2.4d")
        case .solution: .goTo(RevokedWallet(.solution), after: "UC1.2/2.4e")
        }
    }

    var place: Place { .beforeLock }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        self.state = .message
        return .show(self.message)
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch (self.state, action) {
        case (.message, .toHelpDesk):
            self.state = .contact
            return .show(self.contact)
        case (.message, .readMore):
            self.state = .moreInformation
            return .show(Scene("UC1.2/7.2", .screen, .moreInformation).offering((.back, "UC1.2/7.2a")))
        case (.message, .createNewWallet):
            return .call(WipeAppData(confirmed: true))
        case (.contact, .call):
            return .leave(.suspended)
        case (.contact, .back), (.moreInformation, .back):
            self.state = .message
            return .show(self.message)
        case (_, _):
            return .stay
        }
    }

    private var message: Scene {
        let scene =
            switch self.reason {
            case .user:
                Scene("UC1.2/4.1", .screen, .walletDeleted, .walletDeletedByCode)
                    .offering((.toHelpDesk, "UC1.2/4.1a"), (.help, "UC1.2/4.1b"))
            case .wallet:
                Scene("UC1.2/5.1", .screen, .walletBlocked, .walletBlockedCreateNew)
                    .offering(
                        (.createNewWallet, "UC1.2/5.1c"),
                        (.toHelpDesk, "UC1.2/5.1a"),
                        (.help, "UC1.2/5.1b")
                    )
            case .recoveryCode:
                Scene("UC1.2/6.1", .screen, .personBlocked, .cannotUseNow)
                    .offering((.toHelpDesk, "UC1.2/6.1a"), (.help, "UC1.2/6.1b"))
            case .solution:
                Scene("UC1.2/7.1", .screen, .solutionRevoked, .technicalProblem)
                    .offering((.readMore, "UC1.2/7.1a"), (.help, "UC1.2/7.1b"))
            }
        return scene.because(.revoked)
    }

    private var contact: Scene {
        let scene =
            switch self.reason {
            case .user:
                Scene("UC1.2/4.2", .screen, .contact, .contactUs)
                    .offering((.call, "UC1.2/4.2a"), (.back, "UC1.2/4.2b"))
            case .wallet:
                Scene("UC1.2/5.2", .screen, .contact, .contactUs)
                    .offering((.call, "UC1.2/5.2a"), (.back, "UC1.2/5.2b"))
            case .recoveryCode, .solution:
                Scene("UC1.2/6.2", .screen, .contact, .contactUs)
                    .offering((.call, "UC1.2/6.2a"), (.back, "UC1.2/6.2b"))
            }
        return scene.because(.revoked)
    }
}
