internal import Vocabulary

/// LOCK: the keys are forgotten, then the app asks for the PIN or the biometric again.
///
///     locking ──log out──▶ UC2.3, then the dashboard
///        ├──background──▶ UC1.2/3 (the resume that found it), which asks for the PIN
///        └──inactivity──▶ UC2.3, then what was there
struct LockTheApp: Flow {
    /// Why it locks itself; the lock after a launch (LOCK/1.1) needs no flow.
    enum Reason: Sendable {
        case logOut
        case background
        case inactivity
    }

    private let reason: Reason
    private let showsWhatWasThere: Bool

    /// `showsWhatWasThere` where the present screen stands in front of the lock: a revocation stays in sight.
    init(_ reason: Reason, showsWhatWasThere: Bool) {
        self.reason = reason
        self.showsWhatWasThere = showsWhatWasThere
    }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        .ask(.lock)
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.reason, self.showsWhatWasThere) {
        case (.logOut, _): .goTo(UnlockTheApp(then: .enter), after: "LOCK/1.2")
        case (.background, true): .finish(.returned, after: "LOCK/1.3", "UC1.2/1.1b")
        case (.background, false): .call(OpenTheApp(.resume), after: "LOCK/1.3")
        case (.inactivity, true): .finish(.returned, after: "LOCK/1.5")
        case (.inactivity, false): .call(UnlockTheApp(then: .resume), after: "LOCK/1.5")
        }
    }
}

/// LOCK/1.4: says that the app will lock itself, before it does.
///
///     warning ──Yes continue──▶ what was there
///        ├──Log out──▶ LOCK/1.2
///        └──(nothing)──▶ LOCK/1.5
struct LockWarning: Flow {
    private let locksAt: Timestamp

    init(locksAt: Timestamp) {
        self.locksAt = locksAt
    }

    var place: Place { .behindLock }
    var endsWithLock: Bool { true }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        .show(
            Scene("LOCK/1.4", .prompt, .inactivityWarning, .stillThere(self.locksAt))
                .with(.locksAt(self.locksAt))
                .offering((.yesContinue, "LOCK/1.4a"), (.logOut, "LOCK/1.4b"))
        )
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .yesContinue: .finish(.returned)
        case .logOut: .lock(.logOut)
        case _: .stay
        }
    }
}
