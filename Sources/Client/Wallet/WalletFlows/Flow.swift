internal import DeviceInterface

/// One use case or partial flow of flows.md as a state machine: a value without clock, disk or network.
///
/// Each method is one event. It moves the state first and then says the one thing to do next. An event that a flow does
/// not take in any state leaves everything as it is; the defaults below say so once for all flows.
protocol Flow: Sendable {
    /// The flow becomes the present one.
    mutating func start(_ snapshot: Snapshot) -> Transition

    /// One of the present screen's actions was selected; never one that the screen did not offer.
    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition

    /// A PIN was entered on the present screen; never where it has no such input.
    mutating func enter(_ input: PINInput, _ snapshot: Snapshot) -> Transition

    /// Something was held to the phone, or the prompt sent away; never where the present screen is no such prompt.
    mutating func present(_ presentation: Presentation, _ snapshot: Snapshot) -> Transition

    /// The effect that the flow asked for is done, or failed.
    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition

    /// The flow that this one called has ended.
    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition

    /// The present screen's time is over.
    mutating func timerFired(_ snapshot: Snapshot) -> Transition

    /// On which side of the lock this flow stands, as it is now.
    var place: Place { get }

    /// Whether this flow, as it is now, ends when the app locks itself, with everything that it called.
    ///
    /// What a person confirmed does not outlive the lock: who unlocks may be somebody else, and a locked app keeps no PIN
    /// in memory.
    var endsWithLock: Bool { get }

    /// Whether the start of this flow is the end of a link that waits: it is resolved now, or there is no wallet for it.
    var takesLink: Bool { get }
}

/// Where a flow stands, seen from the lock.
enum Place: Sendable {
    /// In front of it: neither a PIN nor a link leads past a rooted device, a blocked version or a revocation.
    case beforeLock
    /// It is the lock.
    case atLock
    /// Only an unlocked app shows it.
    case behindLock
    /// Wherever the flow stands that called it.
    case anywhere
}

extension Flow {
    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition { .stay }
    mutating func enter(_ input: PINInput, _ snapshot: Snapshot) -> Transition { .stay }
    mutating func present(_ presentation: Presentation, _ snapshot: Snapshot) -> Transition { .stay }
    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition { .stay }
    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition { .stay }
    mutating func timerFired(_ snapshot: Snapshot) -> Transition { .stay }
    var place: Place { .anywhere }
    var endsWithLock: Bool { false }
    var takesLink: Bool { false }
}

/// What one event led to: the decisions taken on the way, and the one thing to do next.
struct Transition: Sendable {
    /// For the trace; screens and selected actions are added where they happen.
    var steps: [StepID]
    var next: Next
    /// To be shown on the next screen.
    var banner: Text?
    /// For the host of the app, whatever is next.
    var events: [AppEvent]

    enum Next: Sendable {
        case show(Scene)
        case ask(Effect)
        /// Another flow begins on top of this one, and returns to it.
        case call(any Flow)
        /// "Go to": another flow takes the place of everything.
        case goTo(any Flow)
        case finish(FlowResult)
        /// The app locks itself, whatever is under way.
        case lock(LockTheApp.Reason)
        /// The app is left; the screen stays for the next resume.
        case leave(AppEvent)
        case stay
    }

    init(_ next: Next, steps: [StepID] = [], banner: Text? = nil, events: [AppEvent] = []) {
        self.steps = steps
        self.next = next
        self.banner = banner
        self.events = events
    }

    static func show(_ scene: Scene, after steps: StepID...) -> Transition { Transition(.show(scene), steps: steps) }
    static func ask(_ effect: Effect, after steps: StepID...) -> Transition { Transition(.ask(effect), steps: steps) }
    static func call(_ flow: any Flow, after steps: StepID...) -> Transition { Transition(.call(flow), steps: steps) }
    static func goTo(_ flow: any Flow, after steps: StepID...) -> Transition { Transition(.goTo(flow), steps: steps) }
    static func finish(_ result: FlowResult, after steps: StepID...) -> Transition {
        Transition(.finish(result), steps: steps)
    }
    static func lock(_ reason: LockTheApp.Reason, after steps: StepID...) -> Transition {
        Transition(.lock(reason), steps: steps)
    }
    static func leave(_ event: AppEvent, after steps: StepID...) -> Transition {
        Transition(.leave(event), steps: steps)
    }
    static var stay: Transition { Transition(.stay) }
}

/// How a called flow ends: the "possible results" of its page.
enum FlowResult: Sendable {
    /// Nothing happened: the caller's screen is shown again.
    case returned
    /// PF1.4: this version may be used.
    case allowed
    /// PF2.8 and PF2.4: the right PIN, kept for what it is to pay for.
    case confirmed(PINEntry)
    /// PF2.8: enter a PIN again.
    case retry
    /// The screen before, in the calling flow. From `Temporarily Blocked` there is nothing to enter there.
    case back(whileBlocked: Bool)
    /// PF2.9: the new PIN counts.
    case succeeded
    /// UC2.3: unlocked, and what was there before goes on.
    case unlocked
    /// PF2.7: what became of the link.
    case link(LinkResult)
    /// An error screen: once more.
    case tryAgain
    /// An error screen: not again.
    case closed
}
