internal import Vocabulary

/// PF1.4 Apply update policy: decides whether this version of the app may be used.
///
///     asking ──ok, notify, recommend, warn──▶ allowed (with a banner)
///       ▲ └──block──▶ BlockedVersion (2, 3)
///       └──Retry── error ──Close──▶ (leaves the app)
struct ApplyUpdatePolicy: Flow {
    func enter(_ snapshot: Snapshot) -> Transition { .ask(.askUpdatePolicy) }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch event {
        case .answered(.updatePolicy(let verdict, solutionRevoked: _)): Self.apply(verdict)
        case .answered(.failed(let failure)): Self.fail(failure, snapshot)
        case .returned(.tryAgain): .ask(.askUpdatePolicy)
        case .returned(.closed): .leave(.closed)
        case .entered, .presented, .answered, .returned: .ignored
        }
    }

    private static func apply(_ verdict: UpdateVerdict) -> Transition {
        switch verdict {
        case .ok: .finish(.allowed, after: "PF1.4/1.1a")
        case .notify: Transition(.finish(.allowed), steps: ["PF1.4/1.1b"], banner: .updateExists)
        case .recommend: Transition(.finish(.allowed), steps: ["PF1.4/1.1c"], banner: .updateRecommended)
        case .warn(let time): Transition(.finish(.allowed), steps: ["PF1.4/1.1d"], banner: .versionBlockedIn(time))
        case .block(updateAvailable: true): .goTo(BlockedVersion(updateExists: true), after: "PF1.4/1.1e")
        case .block(updateAvailable: false): .goTo(BlockedVersion(updateExists: false), after: "PF1.4/1.1f")
        }
    }

    /// Returns the way to the screen of a blocked version if that is why an effect has failed, or nil.
    ///
    /// A version may be blocked while the app is open. Each connection begins with a Hello, whose answer says so, and
    /// the server then refuses calls for a reason that a failure does not state. The rule holds for every flow, so that
    /// none offers Retry for ever. PF1.4 handles its own answer. Locking and wiping need no server.
    static func ifBlocked(_ effect: Effect, failing answer: Answer, _ snapshot: Snapshot) -> Transition? {
        guard case .failed(let failure) = answer else { return nil }
        switch failure {
        case .noInternet, .serverUnreachable, .generic: break
        case .revoked, .deviceInsecure: return nil
        }
        guard effect != .askUpdatePolicy, effect != .lock, effect != .wipe,
            case .block(let exists)? = snapshot.lastUpdate?.verdict(at: snapshot.now, for: snapshot.appVersion)
        else { return nil }
        return .goTo(BlockedVersion(updateExists: exists))
    }

    /// Falls back to the stored answer, if it is still valid, when the server cannot be reached.
    private static func fail(_ failure: Failure, _ snapshot: Snapshot) -> Transition {
        let stored = snapshot.lastUpdate?.verdict(at: snapshot.now, for: snapshot.appVersion)
        return switch (failure, stored) {
        case (.noInternet, .some(let verdict)), (.serverUnreachable, .some(let verdict)): Self.apply(verdict)
        case (.noInternet, .none): .call(ErrorScreen(failure, at: "PF1.4/1.1g"))
        case (.serverUnreachable, .none): .call(ErrorScreen(failure, at: "PF1.4/1.1h"))
        case (.revoked, _), (.deviceInsecure, _), (.generic, _): .call(ErrorScreen(failure, at: "PF1.4/1.1"))
        }
    }
}

/// PF1.4/2 and 3: this version must not be used.
///
/// No other part of the app can be reached from here.
struct BlockedVersion: Flow {
    private let updateExists: Bool

    init(updateExists: Bool) { self.updateExists = updateExists }

    var place: Place { .beforeLock }

    func enter(_ snapshot: Snapshot) -> Transition {
        let dialog =
            if self.updateExists {
                Dialog("PF1.4/2.1", .screen, .updateNeeded, .updateToGoOn)
                    .offering(.close, "PF1.4/2.1a", .leave(.closed))
                    .offering(.toStore, "PF1.4/2.1b", .leave(.storeOpened))
            } else {
                Dialog("PF1.4/3.1", .screen, .appIsBlocked, .versionBlocked)
                    .offeringHelp("PF1.4/3.1a")
                    .offering(.toStore, "PF1.4/3.1b", .leave(.storeOpened))
            }
        return .show(dialog.because(.updateNeeded))
    }
}
