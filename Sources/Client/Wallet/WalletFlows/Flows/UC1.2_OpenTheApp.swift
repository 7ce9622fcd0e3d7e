internal import Vocabulary

/// UC1.2 Open the app: from the start of the app to the first thing the user can do.
///
///     launch:  splash ──1 s──▶ PF1.4 ──allowed──▶ asking the status ──active──▶ UC2.3 or UC1.1
///                │ rooted                             └──revoked──▶ RevokedWallet (4 to 7)
///                └──▶ error device-insecure
///
///     resume:  not set up ──────────────────────────▶ the screen below
///              locked ──▶ UC2.3 ──unlocked──────────▶ the screen below
///              else ──(PID)──▶ PF2.7 ──any result──▶ the screen below
struct OpenTheApp: Flow {
    /// The way in which the app was started.
    enum Startup: Sendable {
        /// The app's process was not running.
        case launch
        /// The process was running, with a screen to return to.
        case resume
    }

    enum State {
        case starting(Startup)
        case splash, updating, askingStatus, unlocking, resolvingLink
    }

    var state: State

    init(_ startup: Startup) { self.state = .starting(startup) }

    var place: Place {
        switch self.state {
        case .starting(.launch), .splash, .updating, .askingStatus: .beforeLock
        case .starting(.resume), .unlocking, .resolvingLink: .anywhere
        }
    }

    var endsWithLock: Bool {
        switch self.state {
        case .starting(.launch), .splash, .updating, .askingStatus: false
        case .starting(.resume), .unlocking, .resolvingLink: true
        }
    }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .starting(.launch): self.to(.splash, after: "UC1.2/1.1a")
        case .splash:
            .show(Dialog("UC1.2/2.1", .screen, .splash).ending(.after(.seconds(1)), "UC1.2/2.1a", self.to(.updating)))
        case .updating where snapshot.isRooted: .call(ErrorScreen(.deviceInsecure, at: "UC1.2/2.2b"))
        case .updating: .call(ApplyUpdatePolicy(), after: "UC1.2/2.2a")
        case .askingStatus: Self.askStatus(snapshot)
        case .starting(.resume): self.resumeApp(snapshot)
        case .unlocking, .resolvingLink: .ignored
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.updating, .returned(.allowed)): self.to(.askingStatus, after: "UC1.2/2.3a")
        case (.askingStatus, .answered(.status(.active))): Self.enterApp(snapshot)
        case (.askingStatus, .answered(.status(.mustEnrollAnew))): Self.introduce
        case (.askingStatus, .answered(.status(.revoked(let revocation)))): RevokedWallet.transition(to: revocation)
        case (.askingStatus, .answered(.failed(let failure))): Self.fail(failure, snapshot)
        case (.askingStatus, .returned(.tryAgain)): .ask(.askStatus)
        case (.updating, .returned(.closed)), (.askingStatus, .returned(.closed)): .leave(.closed)

        case (.resolvingLink, .returned(.link(.none))): .finish(.returned, after: "UC1.2/3.4a")
        case (.resolvingLink, .returned(.link(.rejected))): .finish(.returned, after: "UC1.2/3.4b")
        case (.resolvingLink, .returned(.link(.accepted))): .finish(.returned, after: "UC1.2/3.4c")

        case (_, .entered), (_, .presented), (.starting, _), (.splash, _), (.unlocking, _),
            (.updating, .answered), (.updating, .returned), (.askingStatus, .answered), (.askingStatus, .returned),
            (.resolvingLink, .answered), (.resolvingLink, .returned):
            .ignored
        }
    }

    /// Asks for the wallet's status.
    ///
    /// A wallet that was never registered counts as active, unless Hello has reported that the solution is revoked.
    private static func askStatus(_ snapshot: Snapshot) -> Transition {
        guard snapshot.setup == .notStarted else { return .ask(.askStatus) }
        if let revocation = snapshot.lastRevocation, revocation.reason == .solution {
            return RevokedWallet.transition(to: revocation)
        }
        return Self.enterApp(snapshot)
    }

    private static func fail(_ failure: Failure, _ snapshot: Snapshot) -> Transition {
        switch failure {
        case .noInternet, .serverUnreachable:
            // A known revocation stays in effect. If none is known, a new one will be discovered by the unlock.
            if let revocation = snapshot.lastRevocation { return RevokedWallet.transition(to: revocation) }
            return Self.enterApp(snapshot)
        case .deviceInsecure, .revoked, .generic: return .call(ErrorScreen(failure, at: "UC1.2/2.4"))
        }
    }

    /// UC1.2/2.5b: the wallet has not been set up yet.
    static var introduce: Transition { .goTo(IntroduceTheApp(), after: "UC1.2/2.4a", "UC1.2/2.5b") }

    private static func enterApp(_ snapshot: Snapshot) -> Transition {
        guard snapshot.setup != .notStarted else { return Self.introduce }
        return .goTo(UnlockTheApp(then: .enter), after: "UC1.2/2.4a", "UC1.2/2.5a")
    }

    private func resumeApp(_ snapshot: Snapshot) -> Transition {
        switch (snapshot.setup != .notStarted, snapshot.isLocked, snapshot.hasPID) {
        case (false, _, _): .finish(.returned, after: "UC1.2/1.1b", "UC1.2/3.1b")
        case (true, true, _):
            self.to(.unlocking, .call(UnlockTheApp(then: .resume)), after: "UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2b")
        case (true, false, false):
            .finish(.returned, after: "UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2a", "UC1.2/3.3b")
        case (true, false, true):
            self.to(
                .resolvingLink,
                .call(ResolveUniversalLink()),
                after: "UC1.2/1.1b",
                "UC1.2/3.1a",
                "UC1.2/3.2a",
                "UC1.2/3.3a"
            )
        }
    }
}
