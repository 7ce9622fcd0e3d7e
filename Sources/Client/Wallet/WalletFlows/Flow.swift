internal import DeviceInterface

/// One use case or partial flow of flows.md as a state machine: a value without clock, disk or network.
///
/// The code has the same structure as the diagram. ``enter(_:)`` holds the nodes: the screen that a state shows, with
/// the transition of each of its choices, the effect that it asks for, or the flow that it calls. ``handle(_:_:)``
/// holds the edges that carry a value: a PIN, a prompt's presentation, an answer, the result of a called flow.
///
/// A flow never changes itself. It returns a ``Transition``, which is executed by ``AppStateMachine``.
protocol Flow: Sendable {
    associatedtype State: Sendable = Void

    var state: State { get set }

    /// Returns the entry action of the current state.
    ///
    /// A state that is always entered together with its effect or call does not have one and returns
    /// ``Transition/ignored``.
    func enter(_ snapshot: Snapshot) -> Transition

    /// Returns the transition for an event in the current state.
    ///
    /// This is ``Transition/ignored`` if the state does not take the event.
    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition

    /// The side of the lock that this flow is on in its current state.
    var place: Place { get }

    /// True if locking the app ends this flow in its current state, together with all flows it has called.
    ///
    /// A confirmation must not outlive the lock: another person may unlock, and a locked app keeps no PIN in memory.
    var endsWithLock: Bool { get }

    /// If the lock has ended this flow, the flow to start in its place after the next unlock; nil for none.
    ///
    /// This way, the app returns to the same use case, at its confirmation.
    var restart: (any Flow)? { get }

    /// True if the start of this flow consumes the pending link: it resolves the link, or no wallet can take it.
    var takesLink: Bool { get }
}

/// An event that passes a value to the current flow.
///
/// Choices and timers are not events, because their transitions are part of a ``Dialog``.
enum FlowEvent: Sendable {
    /// A PIN was entered; only on a screen that has such an input.
    case entered(PINInput)
    /// Something was presented to a prompt of the operating system, or the prompt was dismissed.
    case presented(Presentation)
    /// The effect that the flow asked for succeeded or failed; the answer is one that this effect takes.
    case answered(Answer)
    /// The flow that this one called has ended.
    case returned(FlowResult)
}

/// The position of a flow relative to the lock.
enum Place: Sendable {
    /// In front of it: neither a PIN nor a link leads past a rooted device, a blocked version or a revocation.
    case beforeLock
    /// The flow is the lock.
    case atLock
    /// Behind it: only shown while the app is unlocked.
    case behindLock
    /// The place of the flow that called it.
    case anywhere
}

extension Flow {
    /// A flow that only shows screens does not take any events.
    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition { .ignored }
    var place: Place { .anywhere }
    var endsWithLock: Bool { false }
    var restart: (any Flow)? { nil }
    var takesLink: Bool { false }

    /// Moves to `state`; without `next` its entry action follows.
    ///
    /// The result does not refer to the current state, so a PIN that is only held by this state is wiped.
    func to(_ state: State, _ next: Transition.Next = .enter, after steps: StepID...) -> Transition {
        var flow = self
        flow.state = state
        return Transition(next, of: flow, steps: steps)
    }

    /// Moves to `state` and validates the PIN there; input that is no PIN changes nothing.
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

/// The reaction to an event: the steps taken on the way, and what to do next.
struct Transition: Sendable {
    /// The current flow in its next state; nil if the state does not change.
    var flow: (any Flow)?
    /// The steps for the trace; screens and selected choices are added where they happen.
    var steps: [StepID]
    var next: Next
    /// The banner to show on the next screen.
    var banner: Text?
    /// The events for the host of the app, regardless of `next`.
    var events: [AppEvent]

    enum Next: Sendable {
        /// The entry action of the flow's state.
        case enter
        indirect case show(Dialog)
        case ask(Effect)
        /// Another flow begins on top of this one, and returns to it.
        case call(any Flow)
        /// "Go to": another flow replaces all that are under way.
        case goTo(any Flow)
        case finish(FlowResult)
        /// The app locks itself, no matter which flows are active.
        case lock(LockTheApp.Reason)
        /// The app is left; the screen stays for the next resume.
        case leave(AppEvent)
        /// The current screen stays.
        case stay
        /// The same, because the state does not take the event; this is recorded for tests.
        case ignored
    }

    init(
        _ next: Next,
        of flow: (any Flow)? = nil,
        steps: [StepID] = [],
        banner: Text? = nil,
        events: [AppEvent] = []
    ) {
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

/// The result of a called flow: the "possible results" of its page.
enum FlowResult: Sendable {
    /// No result: the caller's screen is shown again.
    case returned
    /// PF1.4: this version may be used.
    case allowed
    /// PF2.8 and PF2.4: the right PIN, kept for the instruction that it authorizes.
    case confirmed(PINEntry)
    /// PF2.8: enter a PIN again.
    case retry
    /// Back to the previous screen of the calling flow. The screen `Temporarily Blocked` has no earlier screen on which
    /// something can be entered.
    case back(whileBlocked: Bool)
    /// PF2.9: the new PIN is in effect.
    case succeeded
    /// UC2.3: unlocked; the screen below is shown again.
    case unlocked
    /// PF2.7: the outcome for the link.
    case link(LinkResult)
    /// An error screen: Retry.
    case tryAgain
    /// An error screen: Close.
    case closed
}
