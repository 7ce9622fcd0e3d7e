internal import Vocabulary

/// PF1.4 Apply update policy: whether this version of the app may be used.
///
///     asking ──ok, notify, recommend, warn──▶ allowed (with a banner)
///       ▲ └──block──▶ BlockedVersion (2, 3)
///       └──Retry── failed ──Close──▶ (leaves the app)
struct ApplyUpdatePolicy: Flow {
    mutating func start(_ snapshot: Snapshot) -> Transition {
        .ask(.askUpdatePolicy)
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch answer {
        case .updatePolicy(let verdict, solutionRevoked: _):
            return self.apply(verdict)
        case .failed(let failure):
            return self.fail(failure, snapshot)
        case .status, .verdict, .enrolled, .pinChanged, .deletionCode, .wiped, .progressKept, .prompted, .itemGone,
            .biometricsChanged, .pid, .recoveryCodeLinked, .locked:
            return .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch result {
        case .tryAgain: self.start(snapshot)
        case .closed: .leave(.closed)
        case .returned, .allowed, .confirmed, .retry, .back, .succeeded, .unlocked, .link: .stay
        }
    }

    private func apply(_ verdict: UpdateVerdict) -> Transition {
        switch verdict {
        case .ok:
            return .finish(.allowed, after: "PF1.4/1.1a")
        case .notify:
            return Transition(.finish(.allowed), steps: ["PF1.4/1.1b"], banner: .updateExists)
        case .recommend:
            return Transition(.finish(.allowed), steps: ["PF1.4/1.1c"], banner: .updateRecommended)
        case .warn(let blockedIn):
            return Transition(.finish(.allowed), steps: ["PF1.4/1.1d"], banner: .versionBlockedIn(blockedIn))
        case .block(updateAvailable: true):
            return .goTo(BlockedVersion(updateExists: true), after: "PF1.4/1.1e")
        case .block(updateAvailable: false):
            return .goTo(BlockedVersion(updateExists: false), after: "PF1.4/1.1f")
        }
    }

    /// Serves with the stored answer where the server cannot be reached, as long as it holds.
    private func fail(_ failure: Failure, _ snapshot: Snapshot) -> Transition {
        let stored = snapshot.lastUpdate?.verdict(at: snapshot.now, for: snapshot.appVersion)
        switch failure {
        case .noInternet:
            if let stored { return self.apply(stored) }
            return .call(ErrorScreen(failure, at: "PF1.4/1.1g"), after: "PF1.4/1.1g")
        case .serverUnreachable:
            if let stored { return self.apply(stored) }
            return .call(ErrorScreen(failure, at: "PF1.4/1.1h"), after: "PF1.4/1.1h")
        case .revoked(let revocation):
            return RevokedWallet.transition(to: revocation)
        case .deviceInsecure, .generic:
            return .call(ErrorScreen(failure, at: "PF1.4/1.1"))
        }
    }
}

/// PF1.4/2 and 3: this version may not be used any more; nothing else of the app can be reached from here.
struct BlockedVersion: Flow {
    private let updateExists: Bool

    init(updateExists: Bool) {
        self.updateExists = updateExists
    }

    var place: Place { .beforeLock }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        let scene =
            if self.updateExists {
                Scene("PF1.4/2.1", .screen, .updateNeeded, .updateToGoOn)
                    .offering((.close, "PF1.4/2.1a"), (.toStore, "PF1.4/2.1b"))
            } else {
                Scene("PF1.4/3.1", .screen, .appIsBlocked, .versionBlocked)
                    .offering((.help, "PF1.4/3.1a"), (.toStore, "PF1.4/3.1b"))
            }
        return .show(scene.because(.updateNeeded))
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .close: .leave(.closed)
        case .toStore: .leave(.storeOpened)
        case _: .stay
        }
    }
}
