public import Presence

/// The whole app: the present flow on top of those that called it.
///
///     launch ──▶ UC1.2 ──go to──▶ one flow ──call──▶ another on top ──finish──▶ the caller again
///
/// It is small because each flow is a value with its own states. What it holds of its own: the stack, the screens to
/// return to, what every screen offers (Help, Info), and the trace. No I/O, no clock: facts come in with each event.
public struct AppStateMachine: Sendable {
    /// A flow, and the screen it shows or has shown last.
    private struct Frame {
        var flow: any Flow
        var scene: Scene?
    }

    private var stack: [Frame] = []
    private var banner: Text?
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
    public var scene: Scene? { self.stack.last?.scene }

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

    /// A process of the app starts: always locked, whatever was there before.
    ///
    /// - Parameter link: What the phone started it with, if anything; taken up once the app is unlocked (PF2.7).
    public mutating func launch(_ facts: Facts, opening link: IncomingLink? = nil) -> Action {
        self.stack = []
        self.trace.append("LOCK/1.1")
        return self.follow(.goTo(OpenTheApp(.launch)), facts)
    }

    /// The app comes back from the background, with its process still there.
    public mutating func resume(_ facts: Facts, opening link: IncomingLink? = nil) -> Action {
        guard !self.stack.isEmpty else { return self.launch(facts) }
        if facts.isLocked, self.stack.contains(where: { !$0.flow.mayBeCovered }) { return self.follow(.stay, facts) }
        return self.follow(.call(OpenTheApp(.resume)), facts)
    }

    /// Goes to what a one-shot command is named for, on top of the present screen.
    public mutating func open(_ destination: Destination, _ facts: Facts) -> Action {
        switch destination {
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
        guard let top = self.stack.indices.last, let scene = self.stack[top].scene,
            let choice = scene.choices.first(where: { $0.id == action })
        else { return nil }
        if choice.step != scene.step { self.trace.append(choice.step) }
        switch action {
        case .help: return self.follow(.call(UnderConstruction(step: choice.step)), facts)
        case .info: return self.follow(.call(AppInformation()), facts)
        case _: return self.follow(self.stack[top].flow.select(action, facts), facts)
        }
    }

    /// A PIN was entered; nil where the present screen asks for none.
    public mutating func enter(_ input: PINInput, _ facts: Facts) -> Action? {
        guard let top = self.stack.indices.last, let asked = self.stack[top].scene?.input else { return nil }
        self.trace.append(asked.step)
        return self.follow(self.stack[top].flow.enter(input, facts), facts)
    }

    /// Something was held to the phone; nil where the present screen is no prompt of the operating system.
    public mutating func present(_ presentation: Presentation, _ facts: Facts) -> Action? {
        guard let top = self.stack.indices.last, self.stack[top].scene?.prompt != nil else { return nil }
        return self.follow(self.stack[top].flow.present(presentation, facts), facts)
    }

    /// The effect that was asked for is done, or failed.
    public mutating func receive(_ answer: Answer, _ facts: Facts) -> Action {
        guard let top = self.stack.indices.last else { return self.launch(facts) }
        return self.follow(self.stack[top].flow.receive(answer, facts), facts)
    }

    /// The present screen's time is over; nil where it has no timer.
    public mutating func timerFired(_ facts: Facts) -> Action? {
        guard let top = self.stack.indices.last, let timer = self.stack[top].scene?.timer else { return nil }
        self.trace.append(timer.step)
        return self.follow(self.stack[top].flow.timerFired(facts), facts)
    }

    /// Does what a turn says, and what follows from it, until there is a screen or an effect.
    private mutating func follow(_ first: Turn, _ facts: Facts) -> Action {
        // Leaving the app must not lose the screen that is left.
        let before = self.stack
        var turn = first
        while true {
            self.trace += turn.steps
            self.events += turn.events
            if let banner = turn.banner { self.banner = banner }
            switch turn.next {
            case .show(let scene):
                return self.show(scene)
            case .ask(let effect):
                return .ask(effect)
            case .call(let flow):
                turn = self.push(flow, facts)
            case .goTo(let flow):
                self.stack = []
                turn = self.push(flow, facts)
            case .finish(let result):
                guard let next = self.pop(result, facts) else {
                    self.stack = before
                    return .leave(.suspended, self.scene)
                }
                turn = next
            case .leave(let event):
                self.stack = before
                return .leave(event, self.scene)
            case .stay:
                guard let scene = self.scene else { return .leave(.suspended, nil) }
                return .show(scene)
            }
        }
    }

    private mutating func show(_ scene: Scene) -> Action {
        var scene = scene
        scene.banner = self.banner
        self.banner = nil
        // An error screen's step is the case that led to it, which was noted already.
        if self.trace.last != scene.step { self.trace.append(scene.step) }
        self.stack[self.stack.endIndex - 1].scene = scene
        return .show(scene)
    }

    private mutating func push(_ flow: any Flow, _ facts: Facts) -> Turn {
        self.stack.append(Frame(flow: flow))
        return self.stack[self.stack.endIndex - 1].flow.start(facts)
    }

    /// Ends the present flow and tells its caller; nil where there is none to return to.
    private mutating func pop(_ result: FlowResult, _ facts: Facts) -> Turn? {
        self.stack.removeLast()
        guard case .returned = result else {
            guard let top = self.stack.indices.last else { return nil }
            return self.stack[top].flow.resume(after: result, facts)
        }
        while let frame = self.stack.last {
            if frame.scene != nil { return .stay }
            self.stack.removeLast()
        }
        return nil
    }
}
