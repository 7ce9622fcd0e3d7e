internal import Vocabulary

/// Opening, leaving and locking: UC1.2's two ways in, and the times of LOCK.
extension AppStateMachine {
    /// A process of the app starts: always locked, whatever was there before.
    ///
    /// - Parameter link: What the phone started it with, if anything; taken up once the app is unlocked (PF2.7).
    public mutating func launch(_ snapshot: Snapshot, opening link: IncomingLink? = nil) -> Action {
        self.stack.removeAll()
        self.asked = nil
        self.owesResume = false
        self.owesLock = false
        self.banner = nil
        self.link = link
        self.idleness.use(at: snapshot.now)
        self.note("LOCK/1.1")
        return self.follow(.goTo(OpenTheApp(.launch)), snapshot)
    }

    /// The app comes back from the background, with its process still there; what fell due meanwhile happens first.
    public mutating func resume(_ snapshot: Snapshot, opening link: IncomingLink? = nil) -> Action {
        guard !self.stack.isEmpty || self.owesLock else { return self.launch(snapshot, opening: link) }
        guard !self.isWaiting else {
            self.noteResume(opening: link)
            return self.mustCover(snapshot) ? .leave(.suspended, nil) : self.stay(snapshot)
        }
        if let link { self.link = link }
        self.owesResume = false
        if let reason = self.lockDueAtReturn(snapshot) {
            self.idleness.use(at: snapshot.now)
            return self.follow(Transition(.lock(reason)), snapshot)
        }
        // The warning stands until somebody answers it.
        if self.stack.top is LockWarning { self.idleness.comeBack() } else { self.idleness.use(at: snapshot.now) }
        if self.isTimerDue(snapshot), let action = self.timerFired(snapshot) {
            guard case .show = action else { return action }
        }
        if self.stack.isBeforeLock { return self.follow(Transition(.stay, steps: ["UC1.2/1.1b"]), snapshot) }
        if snapshot.isLocked {
            if self.stack.isAtLock {
                return self.follow(Transition(.stay, steps: ["UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2b"]), snapshot)
            }
            self.stack.endConfirmations()
        }
        return self.follow(.call(OpenTheApp(.resume)), snapshot)
    }

    /// The phone hands over a link: the app that is there takes it as a resume does (UC1.2/3.4), one that is not starts.
    public mutating func open(link: IncomingLink, _ snapshot: Snapshot) -> Action {
        self.resume(snapshot, opening: link)
    }

    /// The app came back, or a link was handed over, while an effect is under way; ``timeDue(_:)`` does it afterwards.
    public mutating func noteResume(opening link: IncomingLink? = nil) {
        if let link { self.link = link }
        self.owesResume = true
    }

    /// The app leaves the foreground; how long it stays away decides whether the next resume locks it first (LOCK/1.3).
    public mutating func background(_ snapshot: Snapshot) {
        self.idleness.hide(at: snapshot.now)
    }

    /// How long an app that is out of sight may still keep what only an open one needs; zero where that has to go now, nil
    /// where there is nothing of it, or the app is in sight.
    public func timeToForget(_ snapshot: Snapshot) -> Duration? {
        guard !snapshot.isLocked || self.stack.keepsPIN else { return nil }
        return self.idleness.timeLeftHidden(snapshot)
    }

    /// The time of ``timeToForget(_:)`` is over, and the keys go: so does what a person has confirmed or entered.
    ///
    /// Nothing is shown or asked for out of sight. The lock itself, with its steps (LOCK/1.3), comes first at the next return.
    ///
    /// - Precondition: No effect is under way.
    public mutating func forget(_ snapshot: Snapshot) {
        guard snapshot.isLocked else {
            self.owesLock = true
            return self.stack.endConfirmations()
        }
        // As where the person closes the error and is asked for the PIN again.
        guard self.stack.endValidation() else { return }
        _ = self.handle(.returned(.retry), snapshot)
    }

    /// What the time itself brings, looked at a few times a second; nil where nothing is due.
    ///
    /// The end of the present screen's timer, the warning before the lock (LOCK/1.4), the lock for want of use
    /// (LOCK/1.5), and a resume that had to wait for an effect. Nothing while the app is in the background: a prompt of the
    /// operating system must not appear there, and the next resume does what fell due.
    public mutating func timeDue(_ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, self.scene != nil else { return nil }
        if self.owesResume { return self.resume(snapshot) }
        guard self.idleness.hiddenSince == nil else { return nil }
        if let lock = self.lockOverdue(snapshot) { return lock }
        if self.isTimerDue(snapshot) { return self.timerFired(snapshot) }
        guard !snapshot.isLocked, !self.stack.isBeforeLock, self.idleness.wantsWarning(snapshot),
            !(self.stack.top is LockWarning)
        else { return nil }
        return self.follow(.call(LockWarning(locksAt: self.idleness.locksAt(snapshot))), snapshot)
    }

    /// Whether the present screen's own time is over.
    func isTimerDue(_ snapshot: Snapshot) -> Bool {
        switch self.scene?.timer?.end {
        case .none: false
        case .some(.at(let end)): end <= snapshot.now
        case .some(.after(let duration)): self.shownAt + duration <= snapshot.now
        }
    }

    /// Locks an app whose time is over before anything else is done with it; nil where it is not.
    ///
    /// A host that never looks at the time cannot keep it open: the first thing that is selected or entered is lost.
    mutating func lockOverdue(_ snapshot: Snapshot) -> Action? {
        guard !snapshot.isLocked || self.owesLock else { return nil }
        let reason: LockTheApp.Reason
        if self.owesLock || self.idleness.wasHiddenTooLong(snapshot) {
            reason = .background
        } else if self.idleness.isUnused(snapshot) {
            reason = .inactivity
        } else {
            return nil
        }
        self.idleness.use(at: snapshot.now)
        return self.follow(Transition(.lock(reason)), snapshot)
    }

    private func lockDueAtReturn(_ snapshot: Snapshot) -> LockTheApp.Reason? {
        if self.owesLock { return .background }
        guard !snapshot.isLocked else { return nil }
        if self.idleness.wasHiddenTooLong(snapshot) { return .background }
        return self.stack.top is LockWarning && self.idleness.isUnused(snapshot) ? .inactivity : nil
    }

    /// Ends what must not outlive the lock, and has the keys forgotten.
    mutating func beginLock(_ reason: LockTheApp.Reason, _ snapshot: Snapshot) -> Transition {
        self.owesLock = false
        switch reason {
        case .logOut: self.stack.removeAll()
        case .background, .inactivity: self.stack.endConfirmations()
        }
        return .call(LockTheApp(reason, staysOnScreen: self.stack.isBeforeLock))
    }
}
