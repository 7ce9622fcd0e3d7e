internal import Vocabulary

/// UC1.2 Open the app: from the start of the app to the first thing to do in it.
///
///     launch:  splash ──1 s──▶ PF1.4 ──allowed──▶ asking the status ──active──▶ UC2.3 or UC1.1
///                │ rooted                             └──revoked──▶ RevokedWallet (4 to 7)
///                └──▶ error device-insecure
///
///     resume:  not set up ──────────────────────────▶ the screen that was there
///              locked ──▶ UC2.3 ──unlocked──────────▶ the screen that was there
///              else ──(PID)──▶ PF2.7 ──any result──▶ the screen that was there
struct OpenTheApp: Flow {
    /// What started the app.
    enum Startup: Sendable {
        /// No process of the app was running.
        case launch
        /// It was, with a screen to return to.
        case resume
    }

    private enum State {
        case starting(Startup)
        case splash
        case updating
        case askingStatus
        case unlocking
        case resolvingLink(hasPID: Bool)
    }

    private var state: State

    init(_ startup: Startup) {
        self.state = .starting(startup)
    }

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

    mutating func start(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .starting(.launch):
            self.state = .splash
            let scene = Scene("UC1.2/2.1", .screen, .splash).ending(.after(.seconds(1)), "UC1.2/2.1a")
            return .show(scene, after: "UC1.2/1.1a")
        case .starting(.resume):
            return self.resumeApp(snapshot)
        case .splash, .updating, .askingStatus, .unlocking, .resolvingLink:
            return .stay
        }
    }

    mutating func timerFired(_ snapshot: Snapshot) -> Transition {
        self.state = .updating
        guard !snapshot.isRooted else {
            return .call(ErrorScreen(.deviceInsecure, at: "UC1.2/2.2b"), after: "UC1.2/2.2b")
        }
        return .call(ApplyUpdatePolicy(), after: "UC1.2/2.2a")
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch (self.state, result) {
        case (.updating, .allowed):
            return self.askStatus(snapshot)
        case (.askingStatus, .tryAgain):
            return .ask(.askStatus)
        case (.resolvingLink(hasPID: false), .link):
            return .finish(.returned)
        case (.resolvingLink(hasPID: true), .link(.none)):
            return .finish(.returned, after: "UC1.2/3.4a")
        case (.resolvingLink(hasPID: true), .link(.rejected)):
            return .finish(.returned, after: "UC1.2/3.4b")
        case (.resolvingLink(hasPID: true), .link(.accepted)):
            return .finish(.returned, after: "UC1.2/3.4c")
        case (_, .closed):
            return .leave(.closed)
        case (_, _):
            return .stay
        }
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch answer {
        case .status(.active):
            return self.enterApp(snapshot)
        case .status(.mustEnrollAnew):
            return .goTo(IntroduceTheApp(), after: "UC1.2/2.4a", "UC1.2/2.5b")
        case .status(.revoked(let revocation)), .failed(.revoked(let revocation)):
            return RevokedWallet.transition(to: revocation)
        case .failed(.noInternet), .failed(.serverUnreachable):
            // A revocation is final as far as this wallet knows; without one the lock will find out.
            if let revocation = snapshot.lastRevocation { return RevokedWallet.transition(to: revocation) }
            return self.enterApp(snapshot)
        case .failed(let failure):
            return .call(ErrorScreen(failure, at: "UC1.2/2.4"))
        case .updatePolicy, .verdict, .enrolled, .pinChanged, .deletionCode, .wiped, .progressKept, .prompted,
            .itemGone,
            .biometricsChanged, .pid, .recoveryCodeLinked, .locked:
            return .stay
        }
    }

    private mutating func askStatus(_ snapshot: Snapshot) -> Transition {
        self.state = .askingStatus
        guard snapshot.setup == .notStarted else { return Transition(.ask(.askStatus), steps: ["UC1.2/2.3a"]) }
        // Never registered: active, unless the whole solution is revoked, which Hello told.
        var transition = self.enterApp(snapshot)
        if let revocation = snapshot.lastRevocation, revocation.reason == .solution {
            transition = RevokedWallet.transition(to: revocation)
        }
        transition.steps.insert("UC1.2/2.3a", at: 0)
        return transition
    }

    private func enterApp(_ snapshot: Snapshot) -> Transition {
        guard snapshot.setup != .notStarted else {
            return .goTo(IntroduceTheApp(), after: "UC1.2/2.4a", "UC1.2/2.5b")
        }
        return .goTo(UnlockTheApp(then: .enter), after: "UC1.2/2.4a", "UC1.2/2.5a")
    }

    private mutating func resumeApp(_ snapshot: Snapshot) -> Transition {
        guard snapshot.setup != .notStarted else { return .finish(.returned, after: "UC1.2/1.1b", "UC1.2/3.1b") }
        guard !snapshot.isLocked else {
            self.state = .unlocking
            return .call(UnlockTheApp(then: .resume), after: "UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2b")
        }
        self.state = .resolvingLink(hasPID: snapshot.hasPID)
        if snapshot.hasPID {
            return .call(ResolveUniversalLink(), after: "UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2a", "UC1.2/3.3a")
        }
        let steps: [StepID] = ["UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2a", "UC1.2/3.3b"]
        // Without an identity the page goes on without PF2.7; a link that came along is told so by it (PF2.7/3).
        return Transition(snapshot.link == nil ? .finish(.returned) : .call(ResolveUniversalLink()), steps: steps)
    }
}
