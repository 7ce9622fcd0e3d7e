public import DeviceInterface
internal import Vocabulary

/// The whole app: the present flow on top of those that called it.
///
///     launch ──▶ UC1.2 ──go to──▶ one flow ──call──▶ another on top ──finish──▶ the caller again
///
/// It is small because each flow is a value with its own states. What it holds of its own: the stack, the screens to
/// return to, what every screen offers (Help, Info), when the app locks itself, the link that waits, and the trace. No
/// I/O, no clock: snapshots come in with each event.
///
/// Invariant: while the snapshot says that the app is locked, no screen from behind the lock is shown, whatever led to it;
/// ``follow(_:_:)`` puts UC2.3 in its place. Out of sight, where nothing is shown, the last one stands until the return.
public struct AppStateMachine: Sendable {
    var stack = FlowStack()
    var idleness = Idleness()
    /// The universal link that nobody has looked at yet.
    var link: IncomingLink?
    /// An effect was asked for and has no answer yet.
    var isWaiting = false
    /// The app came back meanwhile.
    var owesResume = false
    /// The keys were forgotten out of sight; the lock that this was the beginning of is the next return's.
    var owesLock = false
    var banner: Text?
    /// When the present screen appeared.
    var shownAt = Timestamp(milliseconds: 0)
    /// The steps taken since ``takeTrace()``.
    private var trace: [StepID] = []
    /// What happened for the host since ``takeEvents()``.
    private var events: [AppEvent] = []

    public init() {}

    /// What the app does next.
    public enum Action: Sendable {
        case show(Scene)
        /// Do it, then ``AppStateMachine/receive(_:_:)`` what became of it.
        case ask(Effect)
        /// The app is left; `Scene` is what the next resume shows.
        case leave(AppEvent, Scene?)
    }

    /// The screen that is there now; nil while an effect is under way before the first one.
    public var scene: Scene? { self.stack.scene }

    /// The steps taken since the last call, in order.
    public mutating func takeTrace() -> [StepID] {
        defer { self.trace = [] }
        return self.trace
    }

    /// What happened for the host of the app since the last call, in order; the steps that led to it are in the trace.
    ///
    /// An ``Action/leave(_:_:)`` carries its own event, which is not among these.
    public mutating func takeEvents() -> [AppEvent] {
        defer { self.events = [] }
        return self.events
    }

    /// Goes to what a one-shot command is named for, on top of the present screen.
    public mutating func open(_ destination: Destination, _ snapshot: Snapshot) -> Action {
        self.idleness.use(at: snapshot.now)
        if self.mustCover(snapshot) {
            // The keys were forgotten out of sight: what is asked for comes on top of the lock.
            self.owesLock = false
            _ = self.follow(self.cover(snapshot), snapshot)
        }
        return switch destination {
        case .changePIN: self.follow(.call(ChangePIN()), snapshot)
        case .deletionCode: self.follow(.call(ViewDeletionCode()), snapshot)
        case .wipe: self.follow(.call(WipeAppData()), snapshot)
        }
    }

    /// Where ``open(_:_:)`` can go.
    public enum Destination: Hashable, Sendable {
        /// Only while unlocked.
        case changePIN
        /// Only while unlocked.
        case deletionCode
        /// Always: deleting needs no PIN, as from `Forgot PIN?`.
        case wipe
    }

    /// One of the present screen's actions was selected; nil where the screen does not offer it.
    public mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, let scene = self.scene, let choice = scene.choices.first(where: { $0.id == action })
        else { return nil }
        if let lock = self.lockOverdue(snapshot) { return lock }
        self.idleness.use(at: snapshot.now)
        if choice.step != scene.step { self.trace.append(choice.step) }
        switch action {
        case .help: return self.follow(.call(UnderConstruction(step: choice.step)), snapshot)
        case .info: return self.follow(.call(AppInformation()), snapshot)
        case _: return self.tell(snapshot) { flow, snapshot in flow.select(action, snapshot) }
        }
    }

    /// A PIN was entered; nil where the present screen asks for none.
    public mutating func enter(_ input: PINInput, _ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, let asked = self.scene?.input else { return nil }
        if let lock = self.lockOverdue(snapshot) { return lock }
        self.idleness.use(at: snapshot.now)
        self.trace.append(asked.step)
        return self.tell(snapshot) { flow, snapshot in flow.enter(input, snapshot) }
    }

    /// Something was held to the phone; nil where the present screen is no prompt of the operating system.
    public mutating func present(_ presentation: Presentation, _ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, self.scene?.prompt != nil else { return nil }
        if let lock = self.lockOverdue(snapshot) { return lock }
        self.idleness.use(at: snapshot.now)
        return self.tell(snapshot) { flow, snapshot in flow.present(presentation, snapshot) }
    }

    /// The effect that was asked for is done, or failed.
    public mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Action {
        self.isWaiting = false
        // What only a person can answer was use of the app.
        switch answer {
        case .prompted, .itemGone, .pid: self.idleness.answered(at: snapshot.now)
        case .updatePolicy, .status, .verdict, .enrolled, .pinChanged, .deletionCode, .wiped, .progressKept,
            .biometricsChanged, .recoveryCodeLinked, .locked, .failed:
            break
        }
        return self.tell(snapshot) { flow, snapshot in flow.receive(answer, snapshot) } ?? self.launch(snapshot)
    }

    /// The present screen's time is over; nil where it has no timer.
    public mutating func timerFired(_ snapshot: Snapshot) -> Action? {
        guard !self.isWaiting, let timer = self.scene?.timer else { return nil }
        self.trace.append(timer.step)
        return self.tell(snapshot) { flow, snapshot in flow.timerFired(snapshot) }
    }

    /// Notes steps that no flow takes.
    mutating func note(_ steps: StepID...) {
        self.trace += steps
    }
}

// MARK: - What follows from an event

extension AppStateMachine {
    /// Hands an event to the present flow, and does what follows; nil where there is no flow.
    mutating func tell(_ snapshot: Snapshot, _ event: (inout any Flow, Snapshot) -> Transition) -> Action? {
        let before = self.stack
        var snapshot = snapshot
        snapshot.link = self.link
        guard let transition = self.stack.tell({ flow in event(&flow, snapshot) }) else { return nil }
        return self.follow(transition, snapshot, leavingTo: before)
    }

    /// Does what a transition says, and what follows from it, until there is a screen or an effect.
    mutating func follow(_ transition: Transition, _ snapshot: Snapshot) -> Action {
        self.follow(transition, snapshot, leavingTo: self.stack)
    }

    /// `before` is what a flow that leaves the app returns to: leaving must not lose the screen that is left.
    private mutating func follow(_ first: Transition, _ snapshot: Snapshot, leavingTo before: FlowStack) -> Action {
        var transition = first
        while true {
            self.trace += transition.steps
            self.events += transition.events
            if let banner = transition.banner { self.banner = banner }
            switch transition.next {
            case .show(let scene):
                // Before the lock asks for the PIN, the scene is noted as the one to come back to.
                self.stack.show(scene)
                guard self.mustCover(snapshot) else { return self.show(scene, snapshot) }
                transition = self.cover(snapshot)
            case .ask(let effect):
                self.isWaiting = true
                return .ask(effect)
            case .call(let flow):
                transition = self.push(flow, snapshot)
            case .goTo(let flow):
                self.stack.removeAll()
                transition = self.push(flow, snapshot)
            case .lock(let reason):
                transition = self.beginLock(reason, snapshot)
            case .finish(let result):
                guard let next = self.pop(result, snapshot) else {
                    self.stack = before
                    return self.leave(.suspended, snapshot)
                }
                transition = next
            case .leave(let event):
                self.stack = before
                return self.leave(event, snapshot)
            case .stay:
                guard self.mustCover(snapshot) else { return self.stay(snapshot) }
                transition = self.cover(snapshot)
            }
        }
    }

    /// The screen that is there already.
    func stay(_ snapshot: Snapshot) -> Action {
        guard let scene = self.scene else { return .leave(.suspended, nil) }
        return .show(scene)
    }

    private mutating func leave(_ event: AppEvent, _ snapshot: Snapshot) -> Action {
        self.idleness.hide(at: snapshot.now)
        return .leave(event, self.scene)
    }

    private mutating func show(_ scene: Scene, _ snapshot: Snapshot) -> Action {
        var scene = scene
        scene.banner = self.banner
        self.banner = nil
        // An error screen's step is the case that led to it, which was noted already.
        if self.trace.last != scene.step { self.trace.append(scene.step) }
        self.stack.show(scene)
        self.shownAt = snapshot.now
        return .show(scene)
    }

    private mutating func push(_ flow: any Flow, _ snapshot: Snapshot) -> Transition {
        var snapshot = snapshot
        snapshot.link = self.link
        if flow.takesLink { self.link = nil }
        self.stack.push(flow)
        return self.stack.tell { flow in flow.start(snapshot) } ?? .stay
    }

    /// Ends the present flow and tells its caller; nil where there is none to return to.
    private mutating func pop(_ result: FlowResult, _ snapshot: Snapshot) -> Transition? {
        switch result {
        case .returned:
            self.stack.popToScene()
            return self.stack.isEmpty ? nil : .stay
        case .unlocked:
            self.stack.popToScene()
            // The screen that was there ended with the lock: as after a shutdown.
            return self.stack.isEmpty ? .goTo(Dashboard()) : .stay
        case .allowed, .confirmed, .retry, .back, .succeeded, .link, .tryAgain, .closed:
            self.stack.pop()
            return self.stack.tell { flow in flow.resume(after: result, snapshot) }
        }
    }

    /// Whether what stands on top may not be seen now.
    func mustCover(_ snapshot: Snapshot) -> Bool {
        snapshot.isLocked && self.stack.isBehindLock
    }

    /// Asks for the PIN where something from behind the lock was about to be shown.
    private mutating func cover(_ snapshot: Snapshot) -> Transition {
        self.stack.endConfirmations()
        guard snapshot.setup != .notStarted else { return .goTo(IntroduceTheApp()) }
        return .call(UnlockTheApp(then: .resume))
    }
}
