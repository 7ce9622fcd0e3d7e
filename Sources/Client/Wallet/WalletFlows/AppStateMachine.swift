internal import Vocabulary

/// The state of the whole app: the current flow, stacked on top of the flows that called it.
///
///     launch ──▶ UC1.2 ──go to──▶ one flow ──call──▶ another on top ──finish──▶ the caller again
///
/// The state machine can be small because each flow is a value with its own states. It only contains what the flows
/// share: the stack with the screens to return to, the rules for locking, the pending link, and the trace. It does not
/// perform any I/O or read the clock. Instead, every event comes with a snapshot.
///
/// Invariant: while the app is locked according to the snapshot, no screen from behind the lock is shown, no matter
/// which event led to it. ``follow(_:_:)`` shows UC2.3 instead. While the app is out of sight, nothing is shown, and
/// the last screen is kept until it comes back.
package struct AppStateMachine: Sendable {
    var stack = FlowStack()
    var idleness = Idleness()
    /// The universal link that has not been handled by a flow yet.
    var link: IncomingLink?
    /// The effect that has been requested but not answered yet.
    var asked: Effect?
    /// Whether the app came back while an effect was in progress.
    var owesResume = false
    /// Whether the keys were dropped while the app was out of sight.
    ///
    /// The rest of the lock follows when it comes back.
    var owesLock = false
    var banner: Text?
    /// The action of the host application whose confirmation has no outcome yet.
    private var confirmation: ConfirmationRequest?
    /// The uptime at which the current screen appeared.
    var shownAt = Duration.zero
    /// The steps taken since the last call to ``takeTrace()``.
    private var trace: [StepID] = []
    /// The flows that have ignored an event since the last call to ``takeIgnored()``.
    private var ignored: [String] = []
    /// The events for the host since the last call to ``takeEvents()``.
    private var events: [AppEvent] = []

    package init() {}

    /// The next action for the host to perform.
    package enum Action: Equatable, Sendable {
        /// Show the scene and wait for the user.
        case show(Scene)
        /// Perform the effect, then pass the answer to ``AppStateMachine/receive(_:_:)``.
        case ask(Effect)
        /// Leave the app.
        ///
        /// The next resume shows the given scene.
        case leave(AppEvent, Scene?)
    }

    /// The current scene, or nil if the first one is still waiting for an effect.
    package var scene: Scene? { self.stack.dialog?.scene }

    var isWaiting: Bool { self.asked != nil }

    /// Returns the steps taken since the last call, in order.
    package mutating func takeTrace() -> [StepID] {
        defer { self.trace = [] }
        return self.trace
    }

    /// Returns the names of the flows that have received an unexpected event since the last call.
    ///
    /// This never happens if the host follows the actions, so each of these is a bug in a flow or the host.
    mutating func takeIgnored() -> [String] {
        defer { self.ignored = [] }
        return self.ignored
    }

    /// Returns the events for the host since the last call, in order.
    ///
    /// The steps that led to them are in the trace.
    ///
    /// The event of an ``Action/leave(_:_:)`` is not included.
    ///
    /// Invariant: each confirmation for the host has exactly one outcome. If its flow has ended in any way other than
    /// `confirmed`, it was declined.
    package mutating func takeEvents() -> [AppEvent] {
        defer { self.events = [] }
        if let confirmation, !self.stack.isConfirmingForHost {
            if !self.events.contains(.confirmed(confirmation)) { self.events.append(.declined(confirmation)) }
            self.confirmation = nil
        }
        return self.events
    }

    /// Opens the destination of a one-shot command on top of the current screen.
    package mutating func open(_ destination: AppDestination, _ snapshot: Snapshot) -> Action {
        self.idleness.use(at: snapshot.uptime)
        if self.mustCover(snapshot) {
            // The keys were dropped while the app was out of sight, so show the destination on top of the lock.
            self.owesLock = false
            _ = self.follow(self.cover(snapshot), snapshot)
        }
        return switch destination {
        case .changePIN: self.follow(.call(ChangePIN()), snapshot)
        case .deletionCode: self.follow(.call(ViewDeletionCode()), snapshot)
        case .wipe: self.follow(.call(WipeAppData()), snapshot)
        }
    }

    /// Asks the user to confirm an action of the host application, on top of the current screen.
    ///
    /// Returns nil if this is not possible now. The request does not count as using the app, so it does not delay the
    /// lock.
    package mutating func confirm(_ confirmation: ConfirmationRequest, _ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, !snapshot.isLocked, self.idleness.hiddenSince == nil, self.confirmation == nil,
            self.stack.isBehindLock, self.scene?.kind == .screen
        else { return nil }
        self.confirmation = confirmation
        if let lock = self.lockOverdue(snapshot) { return lock }
        return self.follow(.call(ConfirmForHost(confirmation)), snapshot)
    }

    /// Selects an action on the current screen; returns nil if the screen does not offer it.
    package mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, let dialog = self.stack.dialog, let transition = dialog.transitions[action],
            let choice = dialog.scene.choices.first(where: { $0.id == action })
        else { return nil }
        if let lock = self.lockOverdue(snapshot) { return lock }
        self.idleness.use(at: snapshot.uptime)
        if choice.step != dialog.scene.step { self.trace.append(choice.step) }
        return self.follow(transition, snapshot)
    }

    /// Enters a PIN; returns nil if the current screen does not ask for one.
    package mutating func enter(_ input: PINInput, _ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, let asked = self.scene?.input else { return nil }
        if let lock = self.lockOverdue(snapshot) { return lock }
        self.idleness.use(at: snapshot.uptime)
        self.trace.append(asked.step)
        return self.handle(.entered(input), snapshot)
    }

    /// Presents an input to the phone; returns nil if the current screen is not a system prompt.
    package mutating func present(_ presentation: Presentation, _ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, self.scene?.prompt != nil else { return nil }
        if let lock = self.lockOverdue(snapshot) { return lock }
        self.idleness.use(at: snapshot.uptime)
        return self.handle(.presented(presentation), snapshot)
    }

    /// Handles the answer to the requested effect.
    ///
    /// Any other answer is ignored.
    package mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Action {
        guard !self.stack.isEmpty else { return self.launch(snapshot) }
        guard let asked = self.asked, asked.takes(answer) else { return self.follow(.ignored, snapshot) }
        self.asked = nil
        if answer.comesFromPerson { self.idleness.answered(at: snapshot.uptime) }
        if let blocked = ApplyUpdatePolicy.ifBlocked(asked, failing: answer, snapshot) {
            return self.follow(blocked, snapshot)
        }
        return self.handle(.answered(answer), snapshot) ?? self.launch(snapshot)
    }

    /// Handles the end of the current screen's timer; returns nil if it does not have one.
    package mutating func timerFired(_ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, let timer = self.scene?.timer, let timeout = self.stack.dialog?.timeout else {
            return nil
        }
        self.trace.append(timer.step)
        return self.follow(timeout, snapshot)
    }

    /// Adds steps to the trace that were not taken by a flow.
    mutating func note(_ steps: StepID...) { self.trace += steps }
}

// MARK: - Transitions

extension AppStateMachine {
    /// Passes an event to the current flow and executes its transition; returns nil if no flow is active.
    mutating func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Action? {
        self.stack.top.map { flow in self.follow(flow.handle(event, snapshot), snapshot) }
    }

    /// Executes a transition and those that follow from it, until a screen or an effect results.
    mutating func follow(_ first: Transition, _ snapshot: Snapshot) -> Action {
        // Keep the screen to restore in case this transition leaves the app.
        let before = self.stack
        var transition = first
        while true {
            self.trace += transition.steps
            self.events += transition.events
            if let banner = transition.banner { self.banner = banner }
            if let flow = transition.flow { self.stack.replaceTop(flow) }
            switch transition.next {
            case .enter: transition = self.stack.top?.enter(snapshot) ?? .ignored
            case .show(let dialog):
                // Before the lock asks for the PIN, record the dialog as the one to come back to.
                self.stack.show(dialog)
                guard self.mustCover(snapshot) else { return self.show(dialog, snapshot) }
                transition = self.cover(snapshot)
            case .ask(let effect):
                self.asked = effect
                return .ask(effect)
            case .call(let flow): transition = self.start(flow, snapshot)
            case .goTo(let flow):
                self.stack.removeAll()
                transition = self.start(flow, snapshot)
            case .lock(let reason): transition = self.beginLock(reason, snapshot)
            case .finish(let result):
                guard let next = self.pop(result, snapshot) else {
                    self.stack = before
                    return self.leave(.suspended, snapshot)
                }
                transition = next
            case .leave(let event):
                self.stack = before
                return self.leave(event, snapshot)
            case .stay, .ignored:
                if case .ignored = transition.next { self.noteIgnored() }
                if let asked = self.asked { return .ask(asked) }
                if self.mustCover(snapshot) {
                    transition = self.cover(snapshot)
                } else if self.stack.takeRestart() {
                    transition = Transition(.enter)
                } else {
                    return self.stay(snapshot)
                }
            }
        }
    }

    /// Shows the current screen again.
    mutating func stay(_ snapshot: Snapshot) -> Action {
        guard var dialog = self.stack.dialog else { return .leave(.suspended, nil) }
        self.addNotice(to: &dialog, snapshot)
        self.stack.show(dialog)
        return .show(dialog.scene)
    }

    /// Adds the attempt notice to the first screen behind the lock.
    ///
    /// The host clears it after that.
    private func addNotice(to dialog: inout Dialog, _ snapshot: Snapshot) {
        guard let notice = snapshot.attemptNotice, !snapshot.isLocked, self.stack.isBehindLock,
            dialog.scene.prompt == nil
        else { return }
        dialog.scene.notice = notice
    }

    private mutating func leave(_ event: AppEvent, _ snapshot: Snapshot) -> Action {
        self.idleness.hide(at: snapshot.uptime)
        return .leave(event, self.scene)
    }

    private mutating func show(_ dialog: Dialog, _ snapshot: Snapshot) -> Action {
        var dialog = dialog
        // The operating system draws its own prompts, without the app's banner.
        if dialog.scene.kind != .osPrompt {
            dialog.scene.banner = self.banner
            self.banner = nil
        }
        self.addNotice(to: &dialog, snapshot)
        // An error screen's step is the case that led to it. The trace already contains that case.
        if self.trace.last != dialog.scene.step { self.trace.append(dialog.scene.step) }
        self.stack.show(dialog)
        self.shownAt = snapshot.uptime
        return .show(dialog.scene)
    }

    private mutating func start(_ flow: any Flow, _ snapshot: Snapshot) -> Transition {
        var snapshot = snapshot
        snapshot.link = self.link
        if flow.takesLink { self.link = nil }
        self.stack.push(flow)
        return flow.enter(snapshot)
    }

    private mutating func noteIgnored() {
        self.ignored.append(self.stack.top.map { "\(type(of: $0))" } ?? "")
    }

    /// Ends the current flow and passes its result to the caller; returns nil if there is nothing to return to.
    private mutating func pop(_ result: FlowResult, _ snapshot: Snapshot) -> Transition? {
        switch result {
        case .returned:
            self.stack.popToScene()
            return self.stack.isEmpty ? nil : .stay
        case .unlocked:
            self.stack.popToScene()
            // If the lock has ended the flows below, continue as after a shutdown.
            return self.stack.isEmpty ? .goTo(Dashboard()) : .stay
        case .allowed, .confirmed, .confirmedByPrompt, .retry, .back, .succeeded, .link, .tryAgain, .closed:
            self.stack.pop()
            return self.stack.top.map { $0.handle(.returned(result), snapshot) }
        }
    }

    /// Returns whether the current screen must be hidden now.
    func mustCover(_ snapshot: Snapshot) -> Bool { snapshot.isLocked && self.stack.isBehindLock }

    /// Asks for the PIN in front of a screen that is behind the lock.
    private mutating func cover(_ snapshot: Snapshot) -> Transition {
        self.stack.endConfirmations()
        guard snapshot.setup != .notStarted else { return .goTo(IntroduceTheApp()) }
        return .call(UnlockTheApp(then: .resume))
    }
}

/// A place in the app that a command or the host can open directly, on top of the current screen.
package enum AppDestination: Hashable, Sendable {
    /// Changing the PIN; only available while the wallet is unlocked.
    case changePIN
    /// The deletion code; only available while the wallet is unlocked.
    case deletionCode
    /// The wipe, at any time.
    ///
    /// Like `Forgot PIN?`, it does not require the PIN.
    case wipe
}
