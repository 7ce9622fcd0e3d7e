internal import Vocabulary

/// One use case (UC) or partial flow (PF) as a state machine: a value without access to a clock, disk or network.
///
/// docs/testing-guide.md, Ids, explains the names and numbers.
///
/// The code has the same structure as the diagram. ``enter(_:)`` contains the nodes: the screen shown in each state
/// with the transitions for its choices, the effect to perform, or the flow to call. ``handle(_:_:)`` contains the
/// edges that carry a value: a PIN, an input to a prompt, an answer, or the result of a called flow.
///
/// A flow never modifies itself. It returns a ``Transition``, which is executed by ``AppStateMachine``.
protocol Flow: Sendable {
    associatedtype State: Sendable = Void

    var state: State { get set }

    /// Returns the entry action of the current state.
    ///
    /// States that are only ever entered together with an effect or call do not have one and return
    /// ``Transition/ignored``.
    func enter(_ snapshot: Snapshot) -> Transition

    /// Returns the transition for an event in the current state, or ``Transition/ignored`` if the event is unexpected.
    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition

    /// The side of the lock that this flow is on in its current state.
    var place: Place { get }

    /// Whether locking the app ends this flow in its current state, along with all flows it has called.
    ///
    /// A confirmation must not survive the lock, because a different person may unlock the app, and a locked app does
    /// not keep a PIN in memory.
    var endsWithLock: Bool { get }

    /// The flow to start after the next unlock if the lock has ended this flow, or nil if there is none.
    ///
    /// This way, the app returns to the same use case, at its confirmation.
    var restart: (any Flow)? { get }

    /// Whether starting this flow consumes the pending link, either by resolving it or because no wallet exists to
    /// handle it.
    var takesLink: Bool { get }
}

/// An event that passes a value to the current flow.
///
/// Choices and timers are not events, because their transitions are part of a ``Dialog``.
enum FlowEvent: Sendable {
    /// A PIN was entered on a screen that asks for one.
    case entered(PINInput)
    /// Something was presented to a system prompt, or the prompt was dismissed.
    case presented(Presentation)
    /// The effect requested by the flow succeeded or failed.
    ///
    /// The answer is always a possible one for this effect.
    case answered(Answer)
    /// The flow called by this one has ended.
    case returned(FlowResult)
}

/// The position of a flow relative to the lock.
enum Place: Sendable {
    /// In front of the lock.
    ///
    /// Neither a PIN nor a link leads past a rooted device, a blocked version or a revocation.
    case beforeLock
    /// The flow itself is the lock.
    case atLock
    /// Behind the lock; only shown while the app is unlocked.
    case behindLock
    /// In the same place as the flow that called it.
    case anywhere
}

extension Flow {
    /// Flows that only show screens do not expect any events.
    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition { .ignored }
    var place: Place { .anywhere }
    var endsWithLock: Bool { false }
    var restart: (any Flow)? { nil }
    var takesLink: Bool { false }

    /// Moves to `state`, followed by its entry action unless `next` is given.
    ///
    /// The result does not refer to the current state, so a PIN that is held only by this state is wiped.
    func to(_ state: State, _ next: Transition.Next = .enter, after steps: StepID...) -> Transition {
        var flow = self
        flow.state = state
        return Transition(next, of: flow, steps: steps)
    }

    /// Moves to `state` and validates the PIN there.
    ///
    /// Malformed input changes nothing.
    func validate(_ input: PINInput, in state: State) -> Transition {
        switch input {
        case .complete(let entry): self.to(state, .call(ValidatePIN(entry)))
        case .malformed: .stay
        }
    }
}

extension Flow where State == Void {
    var state: Void {
        get {}
        set {}
    }
}

/// The reaction to an event: the steps taken along the way, and what to do next.
struct Transition: Sendable {
    /// The current flow in its next state, or nil if the state does not change.
    var flow: (any Flow)?
    /// The steps to add to the trace.
    ///
    /// Screens and selected choices are added elsewhere, when they occur.
    var steps: [StepID]
    var next: Next
    /// The banner to show on the next screen.
    var banner: Text?
    /// The events for the app's host, regardless of `next`.
    var events: [AppEvent]

    enum Next: Sendable {
        /// Perform the entry action of the flow's state.
        case enter
        indirect case show(Dialog)
        case ask(Effect)
        /// Start another flow on top of this one, which it returns to.
        case call(any Flow)
        /// "Go to": replace all active flows with a different one.
        case goTo(any Flow)
        case finish(FlowResult)
        /// Lock the app, no matter which flows are active.
        case lock(LockTheApp.Reason)
        /// Leave the app.
        ///
        /// The screen is kept for the next resume.
        case leave(AppEvent)
        /// Stay on the current screen.
        case stay
        /// Stay, because the state does not expect the event.
        ///
        /// This is recorded for tests.
        case ignored
    }

    init(_ next: Next, of flow: (any Flow)? = nil, steps: [StepID] = [], banner: Text? = nil, events: [AppEvent] = []) {
        self.flow = flow
        self.steps = steps
        self.next = next
        self.banner = banner
        self.events = events
    }

    static func show(_ dialog: Dialog, after steps: StepID...) -> Transition { Transition(.show(dialog), steps: steps) }
    static func ask(_ effect: Effect, after steps: StepID...) -> Transition { Transition(.ask(effect), steps: steps) }
    static func call(_ flow: any Flow, after steps: StepID...) -> Transition { Transition(.call(flow), steps: steps) }
    static func goTo(_ flow: any Flow, after steps: StepID...) -> Transition { Transition(.goTo(flow), steps: steps) }
    static func finish(_ result: FlowResult, after steps: StepID...) -> Transition {
        Transition(.finish(result), steps: steps)
    }
    static func lock(_ reason: LockTheApp.Reason) -> Transition { Transition(.lock(reason)) }
    static func leave(_ event: AppEvent, after steps: StepID...) -> Transition {
        Transition(.leave(event), steps: steps)
    }
    static var stay: Transition { Transition(.stay) }
    static var ignored: Transition { Transition(.ignored) }
}

/// The result of a called flow, listed as "possible results" on its page.
enum FlowResult: Sendable {
    /// No result.
    ///
    /// The caller's screen is shown again.
    case returned
    /// PF1.4: this version may be used.
    case allowed
    /// PF2.8 and PF2.4: the right PIN, kept for the instruction that it authorizes.
    case confirmed(PINEntry)
    /// PF2.4: the phone's prompt has confirmed an action of the host application.
    ///
    /// It authorizes no instruction.
    case confirmedByPrompt
    /// PF2.8: the PIN must be entered again.
    case retry
    /// Back to the previous screen of the calling flow.
    ///
    /// A `Temporarily Blocked` wallet has no earlier screen to enter something on.
    case back(whileBlocked: Bool)
    /// PF2.9: the new PIN is in effect.
    case succeeded
    /// UC2.3: the app was unlocked, and the screen below is shown again.
    case unlocked
    /// PF2.7: what happened to the link.
    case link(LinkResult)
    /// An error screen: Retry was selected.
    case tryAgain
    /// An error screen: Close was selected.
    case closed
}

/// A scene and the transitions for its choices, defined in one place.
///
/// A choice cannot be offered without a transition, so flows never need to switch over ``ActionID``. The transitions
/// are created when the scene is shown. A decision that depends on a later snapshot must be made in the entry action of
/// a state instead.
struct Dialog: Sendable {
    var scene: Scene
    private(set) var transitions: [ActionID: Transition] = [:]
    /// The transition to perform when the scene's timer expires.
    private(set) var timeout: Transition?
    /// The transition to perform when the app comes back to the scene, or nil to show the scene as it is.
    private(set) var resumption: Transition?

    init(_ step: StepID, _ kind: Screen.Kind, _ title: Text, _ message: Text? = nil) {
        self.scene = Scene(step: step, kind: kind, title: title, message: message)
    }

    /// Creates a system prompt with the app's texts.
    static func prompting(_ prompt: Prompt, at step: StepID, _ snapshot: Snapshot) -> Dialog {
        let text = Text.promptAccepts(prompt.accepts, snapshot.biometrics)
        return Dialog(step, .osPrompt, .prompt(prompt.purpose), text).changed { $0.scene.prompt = prompt }
    }

    func offering(_ action: ActionID, _ step: StepID, _ transition: Transition) -> Dialog {
        self.changed { dialog in
            dialog.scene.choices.append(Scene.Choice(id: action, step: step))
            dialog.transitions[action] = transition
        }
    }

    /// Offers Help, which always leads to the same placeholder.
    func offeringHelp(_ step: StepID) -> Dialog {
        self.offering(.help, step, .call(UnderConstruction(step: step)))
    }

    /// Offers UC9.2.
    func offeringInfo(_ step: StepID) -> Dialog {
        self.offering(.info, step, .call(AppInformation()))
    }

    /// Asks for the PIN, and announces the last attempt before a block.
    func askingPIN(_ step: StepID, _ snapshot: Snapshot) -> Dialog {
        self.changed { dialog in
            dialog.scene.input = Scene.Input(step: step)
            guard case .open(attemptsLeft: 1, finalRound: let isFinal) = snapshot.pinState,
                let request = dialog.scene.message,
                isFinal || !snapshot.policy.blocks.isEmpty
            else { return }
            dialog.scene.message = .lastAttempt(request, isFinal: isFinal)
            dialog.scene.values += [.attemptsLeft(1), .finalRound(isFinal)]
        }
    }

    /// Asks for a new PIN.
    func askingNewPIN(_ step: StepID) -> Dialog {
        self.changed { $0.scene.input = Scene.Input(step: step) }
    }

    func with(_ values: Scene.Value...) -> Dialog { self.changed { $0.scene.values += values } }

    func ending(_ end: Scene.Timer.End, _ step: StepID, _ transition: Transition) -> Dialog {
        self.changed { dialog in
            dialog.scene.timer = Scene.Timer(step: step, end: end)
            dialog.timeout = transition
        }
    }

    func resuming(_ transition: Transition) -> Dialog {
        self.changed { $0.resumption = transition }
    }

    func because(_ obstacle: Obstacle) -> Dialog { self.changed { $0.scene.obstacle = obstacle } }

    private func changed(_ change: (inout Dialog) -> Void) -> Dialog {
        var dialog = self
        change(&dialog)
        return dialog
    }
}

/// The active flows, with the current one on top, and the dialog that each of them has shown last.
struct FlowStack: Sendable {
    private struct Frame {
        var flow: any Flow
        var dialog: Dialog?
        /// Whether the flow replaces one that was ended by the lock.
        ///
        /// Its entry action follows after the unlock.
        var isRestarted = false

        /// Whether there is something to return to.
        var canReturn: Bool { self.dialog != nil || self.isRestarted }
    }

    private var frames: [Frame] = []

    var isEmpty: Bool { self.frames.isEmpty }

    var top: (any Flow)? { self.frames.last?.flow }

    /// The current flow's dialog, or nil if it has not shown one yet.
    ///
    /// If the flow was ended by the lock and will be restarted, this is the last dialog below it.
    var dialog: Dialog? {
        guard let top = self.frames.last, top.isRestarted else { return self.frames.last?.dialog }
        return self.frames.last { $0.dialog != nil }?.dialog
    }

    mutating func push(_ flow: any Flow) { self.frames.append(Frame(flow: flow)) }

    mutating func removeAll() { self.frames = [] }

    /// Removes the current flow.
    mutating func pop() {
        if !self.frames.isEmpty { self.frames.removeLast() }
    }

    /// Removes the current flow and any flows below it that have no screen to return to.
    mutating func popToScene() {
        self.pop()
        self.popWithoutScene()
    }

    /// Replaces the current flow with its next state.
    mutating func replaceTop(_ flow: any Flow) {
        guard let top = self.frames.indices.last else { return }
        self.frames[top].flow = flow
    }

    /// Records the dialog shown by the current flow.
    mutating func show(_ dialog: Dialog) {
        guard let top = self.frames.indices.last else { return }
        self.frames[top].dialog = dialog
    }

    /// Ends the flows that must not survive the lock: the lowest such flow and everything above it.
    mutating func endConfirmations() {
        guard let lowest = self.frames.firstIndex(where: { $0.flow.endsWithLock }) else { return }
        let restart = self.frames[lowest].flow.restart
        self.frames.removeSubrange(lowest...)
        if let restart {
            self.frames.append(Frame(flow: restart, isRestarted: true))
        } else {
            self.popWithoutScene()
        }
    }

    /// Returns true once if the current flow is starting again after a lock.
    mutating func takeRestart() -> Bool {
        guard let top = self.frames.indices.last, self.frames[top].isRestarted else { return false }
        self.frames[top].isRestarted = false
        return true
    }

    private mutating func popWithoutScene() {
        while let last = self.frames.last, !last.canReturn { self.frames.removeLast() }
    }

    /// Whether a PIN is kept for another try.
    var keepsPIN: Bool { self.validation != nil }

    private var validation: Int? {
        self.frames.lastIndex { frame in (frame.flow as? ValidatePIN)?.keepsPIN == true }
    }

    /// Ends the flow that keeps a PIN, along with all flows it has called; returns whether such a flow was active.
    mutating func endValidation() -> Bool {
        guard let validation = self.validation else { return false }
        self.frames.removeSubrange(validation...)
        return true
    }

    /// Whether the user is asked to confirm an action of the host application.
    var isConfirmingForHost: Bool { self.frames.contains { $0.flow is ConfirmForHost } }

    /// Whether a flow is active that the user cannot get past: a rooted device, a blocked version, or a revocation.
    var isBeforeLock: Bool { self.frames.contains { frame in frame.flow.place == .beforeLock } }

    /// Whether the app is asking for the PIN or showing a screen that resulted from it.
    var isAtLock: Bool { self.frames.contains { frame in frame.flow.place == .atLock } }

    /// Whether the current screen may only be shown while the app is unlocked.
    var isBehindLock: Bool {
        guard let last = self.frames.lastIndex(where: { $0.flow.place != .anywhere }) else { return false }
        return self.frames[last].flow.place == .behindLock
    }
}
