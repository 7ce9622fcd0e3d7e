public import DeviceInterface
internal import Vocabulary

/// The whole app: the present flow on top of those that called it.
///
///     launch ──▶ UC1.2 ──go to──▶ one flow ──call──▶ another on top ──finish──▶ the caller again
///
/// It is small because each flow is a value with its own states. What it holds of its own: the stack, the screens to
/// return to, what every screen offers (Help, Info), when the app locks itself, the link that waits, and the trace. No
/// I/O, no clock: facts come in with each event.
///
/// Invariant: while the facts say that the app is locked, no screen from behind the lock is shown, whatever led to it;
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
    public mutating func open(_ destination: Destination, _ facts: Facts) -> Action {
        self.idleness.use(at: facts.now)
        if self.mustCover(facts) {
            // The keys were forgotten out of sight: what is asked for comes on top of the lock.
            self.owesLock = false
            _ = self.follow(self.cover(facts), facts)
        }
        return switch destination {
        case .changePIN: self.follow(.call(ChangePIN()), facts)
        case .deletionCode: self.follow(.call(ViewDeletionCode()), facts)
        case .wipe: self.follow(.call(WipeAppData()), facts)
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
    public mutating func select(_ action: ActionID, _ facts: Facts) -> Action? {
        guard !self.isWaiting, let scene = self.scene, let choice = scene.choices.first(where: { $0.id == action })
        else { return nil }
        if let lock = self.lockOverdue(facts) { return lock }
        self.idleness.use(at: facts.now)
        if choice.step != scene.step { self.trace.append(choice.step) }
        switch action {
        case .help: return self.follow(.call(UnderConstruction(step: choice.step)), facts)
        case .info: return self.follow(.call(AppInformation()), facts)
        case _: return self.tell(facts) { flow, facts in flow.select(action, facts) }
        }
    }

    /// A PIN was entered; nil where the present screen asks for none.
    public mutating func enter(_ input: PINInput, _ facts: Facts) -> Action? {
        guard !self.isWaiting, let asked = self.scene?.input else { return nil }
        if let lock = self.lockOverdue(facts) { return lock }
        self.idleness.use(at: facts.now)
        self.trace.append(asked.step)
        return self.tell(facts) { flow, facts in flow.enter(input, facts) }
    }

    /// Something was held to the phone; nil where the present screen is no prompt of the operating system.
    public mutating func present(_ presentation: Presentation, _ facts: Facts) -> Action? {
        guard !self.isWaiting, self.scene?.prompt != nil else { return nil }
        if let lock = self.lockOverdue(facts) { return lock }
        self.idleness.use(at: facts.now)
        return self.tell(facts) { flow, facts in flow.present(presentation, facts) }
    }

    /// The effect that was asked for is done, or failed.
    public mutating func receive(_ answer: Answer, _ facts: Facts) -> Action {
        self.isWaiting = false
        // What only a person can answer was use of the app.
        switch answer {
        case .prompted, .itemGone, .pid: self.idleness.answered(at: facts.now)
        case .updatePolicy, .status, .verdict, .enrolled, .pinChanged, .deletionCode, .wiped, .progressKept,
            .biometricsChanged, .recoveryCodeLinked, .locked, .failed:
            break
        }
        return self.tell(facts) { flow, facts in flow.receive(answer, facts) } ?? self.launch(facts)
    }

    /// The present screen's time is over; nil where it has no timer.
    public mutating func timerFired(_ facts: Facts) -> Action? {
        guard !self.isWaiting, let timer = self.scene?.timer else { return nil }
        self.trace.append(timer.step)
        return self.tell(facts) { flow, facts in flow.timerFired(facts) }
    }

    /// Notes steps that no flow takes.
    mutating func note(_ steps: StepID...) {
        self.trace += steps
    }
}

// MARK: - What follows from an event

extension AppStateMachine {
    /// Hands an event to the present flow, and does what follows; nil where there is no flow.
    mutating func tell(_ facts: Facts, _ event: (inout any Flow, Facts) -> Turn) -> Action? {
        let before = self.stack
        var facts = facts
        facts.link = self.link
        guard let turn = self.stack.tell({ flow in event(&flow, facts) }) else { return nil }
        return self.follow(turn, facts, leavingTo: before)
    }

    /// Does what a turn says, and what follows from it, until there is a screen or an effect.
    mutating func follow(_ turn: Turn, _ facts: Facts) -> Action {
        self.follow(turn, facts, leavingTo: self.stack)
    }

    /// `before` is what a flow that leaves the app returns to: leaving must not lose the screen that is left.
    private mutating func follow(_ first: Turn, _ facts: Facts, leavingTo before: FlowStack) -> Action {
        var turn = first
        while true {
            self.trace += turn.steps
            self.events += turn.events
            if let banner = turn.banner { self.banner = banner }
            switch turn.next {
            case .show(let scene):
                // Before the lock asks for the PIN, the scene is noted as the one to come back to.
                self.stack.show(scene)
                guard self.mustCover(facts) else { return self.show(scene, facts) }
                turn = self.cover(facts)
            case .ask(let effect):
                self.isWaiting = true
                return .ask(effect)
            case .call(let flow):
                turn = self.push(flow, facts)
            case .goTo(let flow):
                self.stack.removeAll()
                turn = self.push(flow, facts)
            case .lock(let reason):
                turn = self.beginLock(reason, facts)
            case .finish(let result):
                guard let next = self.pop(result, facts) else {
                    self.stack = before
                    return self.leave(.suspended, facts)
                }
                turn = next
            case .leave(let event):
                self.stack = before
                return self.leave(event, facts)
            case .stay:
                guard self.mustCover(facts) else { return self.stay(facts) }
                turn = self.cover(facts)
            }
        }
    }

    /// The screen that is there already.
    func stay(_ facts: Facts) -> Action {
        guard let scene = self.scene else { return .leave(.suspended, nil) }
        return .show(scene)
    }

    private mutating func leave(_ event: AppEvent, _ facts: Facts) -> Action {
        self.idleness.hide(at: facts.now)
        return .leave(event, self.scene)
    }

    private mutating func show(_ scene: Scene, _ facts: Facts) -> Action {
        var scene = scene
        scene.banner = self.banner
        self.banner = nil
        // An error screen's step is the case that led to it, which was noted already.
        if self.trace.last != scene.step { self.trace.append(scene.step) }
        self.stack.show(scene)
        self.shownAt = facts.now
        return .show(scene)
    }

    private mutating func push(_ flow: any Flow, _ facts: Facts) -> Turn {
        var facts = facts
        facts.link = self.link
        if flow.takesLink { self.link = nil }
        self.stack.push(flow)
        return self.stack.tell { flow in flow.start(facts) } ?? .stay
    }

    /// Ends the present flow and tells its caller; nil where there is none to return to.
    private mutating func pop(_ result: FlowResult, _ facts: Facts) -> Turn? {
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
            return self.stack.tell { flow in flow.resume(after: result, facts) }
        }
    }

    /// Whether what stands on top may not be seen now.
    func mustCover(_ facts: Facts) -> Bool {
        facts.isLocked && self.stack.isBehindLock
    }

    /// Asks for the PIN where something from behind the lock was about to be shown.
    private mutating func cover(_ facts: Facts) -> Turn {
        self.stack.endConfirmations()
        guard facts.setup != .notStarted else { return .goTo(IntroduceTheApp()) }
        return .call(UnlockTheApp(then: .resume))
    }
}
