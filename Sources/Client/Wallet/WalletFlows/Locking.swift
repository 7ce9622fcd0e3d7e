internal import Vocabulary

/// Launching, leaving and locking the app: the two kinds of start in UC1.2, and the LOCK timeouts.
extension AppStateMachine {
    /// Launches the app.
    ///
    /// It is always locked at first, no matter what state the previous process was in.
    ///
    /// - Parameter link: The link that launched the app, which is resolved once the app is unlocked (PF2.7).
    package mutating func launch(_ snapshot: Snapshot, opening link: IncomingLink? = nil) -> Action {
        self.stack.removeAll()
        self.asked = nil
        self.owesResume = false
        self.owesLock = false
        self.banner = nil
        self.link = link
        self.idleness.use(at: snapshot.uptime)
        self.note("LOCK/1.1")
        return self.follow(.goTo(OpenTheApp(.launch)), snapshot)
    }

    /// Brings the app back from the background while its process is still running.
    ///
    /// Expired timeouts take effect first.
    package mutating func resume(_ snapshot: Snapshot, opening link: IncomingLink? = nil) -> Action {
        guard !self.stack.isEmpty || self.owesLock else { return self.launch(snapshot, opening: link) }
        guard !self.isWaiting else {
            self.noteResume(opening: link, snapshot)
            return self.mustCover(snapshot) ? .leave(.suspended, nil) : self.stay(snapshot)
        }
        self.keep(link, snapshot)
        self.owesResume = false
        if let reason = self.lockDueAtReturn(snapshot) {
            self.idleness.use(at: snapshot.uptime)
            return self.follow(Transition(.lock(reason)), snapshot)
        }
        // The warning stays until the user responds to it.
        if self.stack.top is LockWarning { self.idleness.comeBack() } else { self.idleness.use(at: snapshot.uptime) }
        if self.isTimerDue(snapshot), let action = self.timerFired(snapshot) {
            guard case .show = action else { return action }
        }
        if self.stack.isBeforeLock { return self.follow(Transition(.stay, steps: ["UC1.2/1.1b"]), snapshot) }
        if snapshot.isLocked {
            if self.stack.isAtLock {
                self.note("UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2b")
                return self.follow(self.stack.dialog?.resumption ?? .stay, snapshot)
            }
            self.stack.endConfirmations()
        } else if !snapshot.hasPID {
            // UC1.2/3.3b: the app resumes, and the link is not resolved, now or later.
            self.link = nil
        }
        return self.follow(.call(OpenTheApp(.resume)), snapshot)
    }

    /// Notes that the app came back or received a link while an effect was in progress.
    ///
    /// The app is resumed afterwards by ``timeDue(_:)``.
    package mutating func noteResume(opening link: IncomingLink? = nil, _ snapshot: Snapshot) {
        self.keep(link, snapshot)
        self.owesResume = true
    }

    /// Keeps a link for PF2.7, or drops it if no wallet exists yet.
    private mutating func keep(_ link: IncomingLink?, _ snapshot: Snapshot) {
        if let link, snapshot.setup != .notStarted { self.link = link }
    }

    /// Sends the app to the background.
    ///
    /// After the background timeout, the next resume locks it first (LOCK/1.3).
    package mutating func background(_ snapshot: Snapshot) {
        self.idleness.hide(at: snapshot.uptime)
    }

    /// Returns how long the app may keep its keys and an entered PIN while it is out of sight.
    ///
    /// The result is zero if they must be dropped now, and nil if there are none or the app is visible.
    package func timeToForget(_ snapshot: Snapshot) -> Duration? {
        guard !snapshot.isLocked || self.stack.keepsPIN else { return nil }
        return self.idleness.timeLeftHidden(snapshot)
    }

    /// Ends all confirmations and drops an entered PIN.
    ///
    /// Called when the time returned by ``timeToForget(_:)`` is over and the keys have been erased.
    ///
    /// In the background, the app does not show screens or ask for effects. The lock with its steps (LOCK/1.3) is the
    /// first thing that happens when the user returns.
    ///
    /// - Precondition: No effect is in progress.
    package mutating func forget(_ snapshot: Snapshot) {
        guard snapshot.isLocked else {
            self.owesLock = true
            return self.stack.endConfirmations()
        }
        // This is as if the user had closed the error, so we ask for the PIN again.
        guard self.stack.endValidation() else { return }
        _ = self.handle(.returned(.retry), snapshot)
    }

    /// Reacts to the passing of time, or returns nil if nothing is due.
    ///
    /// Called several times per second.
    ///
    /// This handles the current screen's timer, the warning before the lock (LOCK/1.4), the lock after inactivity
    /// (LOCK/1.5), and a resume that had to wait for an effect. Nothing happens in the background, because no system
    /// prompt may appear there; the next resume catches up.
    package mutating func timeDue(_ snapshot: Snapshot) -> Action? {
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

    /// Returns whether the current screen's timer has expired.
    func isTimerDue(_ snapshot: Snapshot) -> Bool {
        switch self.scene?.timer?.end {
        case .none: false
        case .some(.at(let end)): end <= snapshot.uptime
        case .some(.after(let duration)): self.shownAt + duration <= snapshot.uptime
        }
    }

    /// Locks the app before it handles an event if a timeout has expired.
    ///
    /// Otherwise, returns nil.
    ///
    /// This way, a host cannot keep the app open by never calling ``timeDue(_:)``. The first selection or entry after
    /// the timeout is lost.
    mutating func lockOverdue(_ snapshot: Snapshot) -> Action? {
        guard !snapshot.isLocked || self.owesLock else { return self.forgetUnusedPIN(snapshot) }
        let reason: LockTheApp.Reason
        if self.owesLock || self.idleness.wasHiddenTooLong(snapshot) {
            reason = .background
        } else if self.idleness.isUnused(snapshot) {
            reason = .inactivity
        } else {
            return nil
        }
        self.idleness.use(at: snapshot.uptime)
        return self.follow(Transition(.lock(reason)), snapshot)
    }

    /// Drops a PIN that a locked app keeps after an error, and asks for it again.
    ///
    /// Otherwise, a person who finds the phone could try the owner's PIN again.
    private mutating func forgetUnusedPIN(_ snapshot: Snapshot) -> Action? {
        guard self.idleness.isUnused(snapshot), self.stack.endValidation() else { return nil }
        self.idleness.use(at: snapshot.uptime)
        return self.handle(.returned(.retry), snapshot)
    }

    private func lockDueAtReturn(_ snapshot: Snapshot) -> LockTheApp.Reason? {
        if self.owesLock { return .background }
        guard !snapshot.isLocked else { return nil }
        if self.idleness.wasHiddenTooLong(snapshot) { return .background }
        return self.stack.top is LockWarning && self.idleness.isUnused(snapshot) ? .inactivity : nil
    }

    /// Ends all confirmations and starts the flow that makes the wallet drop its keys.
    mutating func beginLock(_ reason: LockTheApp.Reason, _ snapshot: Snapshot) -> Transition {
        self.owesLock = false
        switch reason {
        case .logOut: self.stack.removeAll()
        case .background, .inactivity: self.stack.endConfirmations()
        }
        return .call(LockTheApp(reason, staysOnScreen: self.stack.isBeforeLock))
    }
}

/// Tracks when the app was last used and when it went out of sight, which determines when it must lock itself.
///
/// Time spent out of sight and time without use are measured separately, both with ``Snapshot/uptime``. Coming back
/// counts as use, unless the warning is being shown.
struct Idleness: Sendable {
    private var usedAt = Duration.zero
    private(set) var hiddenSince: Duration?

    /// Notes that the user selected, entered or presented something, or opened the app.
    mutating func use(at uptime: Duration) {
        self.usedAt = uptime
        self.hiddenSince = nil
    }

    /// Notes that the user answered a question, perhaps outside the app.
    ///
    /// This counts as use, but does not bring the app into sight.
    mutating func answered(at uptime: Duration) { self.usedAt = uptime }

    /// Notes that the app came back to the same screen, which does not count as use by itself.
    mutating func comeBack() { self.hiddenSince = nil }

    /// Notes that the app went out of sight.
    ///
    /// Further calls have no effect until it comes back.
    mutating func hide(at uptime: Duration) { self.hiddenSince = self.hiddenSince ?? uptime }

    /// Returns how long the app may stay out of sight before it must lock itself, or nil if it is visible.
    func timeLeftHidden(_ snapshot: Snapshot) -> Duration? {
        self.hiddenSince.map { max(.zero, snapshot.lockTimes.background - (snapshot.uptime - $0)) }
    }

    /// Returns whether the app has been out of sight for too long.
    func wasHiddenTooLong(_ snapshot: Snapshot) -> Bool { self.timeLeftHidden(snapshot) == .zero }

    /// Returns whether the app has not been used for too long.
    func isUnused(_ snapshot: Snapshot) -> Bool {
        snapshot.uptime - self.usedAt >= snapshot.lockTimes.inactivity
    }

    /// Returns whether the app has not been used for so long that it must warn the user about the lock.
    func wantsWarning(_ snapshot: Snapshot) -> Bool {
        snapshot.uptime - self.usedAt >= snapshot.lockTimes.warning
    }

    /// Returns the uptime at which the app will lock itself if it is not used.
    func locksAt(_ snapshot: Snapshot) -> Duration { self.usedAt + snapshot.lockTimes.inactivity }
}
