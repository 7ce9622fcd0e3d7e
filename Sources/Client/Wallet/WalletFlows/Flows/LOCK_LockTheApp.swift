/// LOCK: drops the keys, then asks for the PIN or a biometric again.
///
///     locking ──log out──▶ UC2.3, then the dashboard
///        ├──background──▶ UC1.2/3 (the resume that found it), which asks for the PIN
///        └──inactivity──▶ UC2.3, then the screen below
struct LockTheApp: Flow {
    /// The reason for the lock.
    ///
    /// Locking after a launch (LOCK/1.1) does not require a flow.
    enum Reason: Sendable {
        case logOut, background, inactivity
    }

    private let reason: Reason
    private let staysOnScreen: Bool

    /// `staysOnScreen` is true if the current screen is in front of the lock.
    ///
    /// For example, a revocation stays visible.
    init(_ reason: Reason, staysOnScreen: Bool) {
        self.reason = reason
        self.staysOnScreen = staysOnScreen
    }

    func enter(_ snapshot: Snapshot) -> Transition { .ask(.lock) }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch event {
        case .answered(.locked), .answered(.failed):
            switch (self.reason, self.staysOnScreen) {
            case (.logOut, _): .goTo(UnlockTheApp(then: .enter), after: "LOCK/1.2")
            case (.background, true): .finish(.returned, after: "LOCK/1.3", "UC1.2/1.1b")
            case (.background, false): .call(OpenTheApp(.resume), after: "LOCK/1.3")
            case (.inactivity, true): .finish(.returned, after: "LOCK/1.5")
            case (.inactivity, false): .call(UnlockTheApp(then: .resume), after: "LOCK/1.5")
            }
        case .entered, .presented, .answered, .returned: .ignored
        }
    }
}

/// LOCK/1.4: warns that the app is about to lock itself.
///
///     warning ──Yes continue──▶ the screen below
///        ├──Log out──▶ LOCK/1.2
///        └──(nothing)──▶ LOCK/1.5
struct LockWarning: Flow {
    private let locksAt: Duration

    init(locksAt: Duration) { self.locksAt = locksAt }

    var place: Place { .behindLock }
    var endsWithLock: Bool { true }

    func enter(_ snapshot: Snapshot) -> Transition {
        .show(
            Dialog("LOCK/1.4", .prompt, .inactivityWarning, .stillThere(self.locksAt))
                .with(.locksAt(self.locksAt))
                .offering(.yesContinue, "LOCK/1.4a", .finish(.returned))
                .offering(.logOut, "LOCK/1.4b", .lock(.logOut))
        )
    }
}
