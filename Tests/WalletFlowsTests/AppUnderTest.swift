@testable import WalletFlows
import Testing
import Vocabulary

/// The app's state machine with a transcript of its events and actions.
struct AppUnderTest {
    /// The reaction of the app to one event, as far as a test compares it.
    enum Reaction: Equatable {
        /// A screen, identified by its step.
        case shows(StepID)
        case asks(Effect)
        case leaves(AppEvent)
    }

    var app = AppStateMachine()
    var snapshot: Snapshot
    private(set) var last: AppStateMachine.Action?
    /// The snapshot of the event that led to `last`.
    private(set) var snapshotOfLast: Snapshot
    /// Every step since the beginning.
    private(set) var trace: [String] = []
    /// Every event for the host since the beginning.
    private(set) var events: [AppEvent] = []
    /// True if a flow may get an event that its state does not take.
    var toleratesIgnored = false
    /// The number of accepted requests for a confirmation, and the length of the trace at the last one.
    private(set) var confirmations = (count: 0, start: 0)
    /// Every entered PIN, referenced weakly: the flows alone decide how long it is kept.
    private var entries: [WeakEntry] = []

    private struct WeakEntry {
        weak var entry: PINEntry?
    }

    init(setup: SetupProgress = .notStarted) {
        self.snapshot = Snapshot(
            now: Timestamp(milliseconds: 1_000_000),
            uptime: .seconds(500),
            appVersion: AppUnderTest.version
        )
        self.snapshot.setup = setup
        self.snapshotOfLast = self.snapshot
    }

    static var version: AppVersion {
        guard let version = AppVersion("1.0.0") else { preconditionFailure("a version") }
        return version
    }

    /// The present screen, in English.
    var screen: Screen? {
        self.app.scene.map { Wording().screen($0, at: self.snapshot.now, uptime: self.snapshot.uptime) }
    }

    /// The last reaction; nil before the first event.
    var state: Reaction? {
        switch self.last {
        case .some(.ask(let effect)): .asks(effect)
        case .some(.leave(let event, _)): .leaves(event)
        case .some(.show(let scene)): .shows(scene.step)
        case .none: nil
        }
    }

    /// The PIN that was entered so many entries before the last; another PIN if no flow keeps it.
    func entry(_ before: Int) -> PINEntry {
        if let entry = self.entries.dropLast(before).last?.entry { return entry }
        guard case .complete(let other) = PINInput(typed: "000000".utf8) else { preconditionFailure("six digits") }
        return other
    }

    /// Records an action; nil if the event was not possible.
    @discardableResult
    mutating func note(_ action: AppStateMachine.Action?) -> Reaction? {
        if let action {
            self.last = action
            self.snapshotOfLast = self.snapshot
        }
        self.trace += self.app.takeTrace().map(\.description)
        self.events += self.app.takeEvents()
        if case .some(.leave(let event, _)) = action { self.events.append(event) }
        let ignored = self.app.takeIgnored()
        if !self.toleratesIgnored, !ignored.isEmpty {
            Issue.record("an event was ignored by \(ignored.joined(separator: ", ")) after \(self.trace.suffix(5))")
        }
        return action == nil ? nil : self.state
    }

    /// A value that the present screen shows.
    func value(_ name: String) -> Screen.Value? { self.screen?.values[name] }

    @discardableResult mutating func launch(_ link: IncomingLink? = nil) -> Reaction? {
        self.note(self.app.launch(self.snapshot, opening: link))
    }
    @discardableResult mutating func resume(_ link: IncomingLink? = nil) -> Reaction? {
        self.note(self.app.resume(self.snapshot, opening: link))
    }
    @discardableResult mutating func open(_ link: IncomingLink) -> Reaction? {
        self.resume(link)
    }
    mutating func background() { self.app.background(self.snapshot) }
    /// Erases the keys in the background if it is time; returns whether it was.
    @discardableResult mutating func forget() -> Bool {
        guard self.app.timeToForget(self.snapshot) == .zero else { return false }
        self.app.forget(self.snapshot)
        self.snapshot.isLocked = true
        self.note(nil)
        return true
    }
    @discardableResult mutating func timeDue() -> Reaction? { self.note(self.app.timeDue(self.snapshot)) }
    @discardableResult mutating func present(_ presentation: Presentation = .match) -> Reaction? {
        self.note(self.app.present(presentation, self.snapshot))
    }
    mutating func wait(_ seconds: Int64) {
        self.snapshot.now = self.snapshot.now + .seconds(seconds)
        self.snapshot.uptime += .seconds(seconds)
    }
    /// The owner sets the phone's clock.
    mutating func setClock(forward seconds: Int64) { self.snapshot.now = self.snapshot.now + .seconds(seconds) }
    @discardableResult mutating func tap(_ action: ActionID) -> Reaction? {
        self.note(self.app.select(action, self.snapshot))
    }
    @discardableResult mutating func timer() -> Reaction? { self.note(self.app.timerFired(self.snapshot)) }
    @discardableResult mutating func open(_ destination: AppDestination) -> Reaction? {
        self.note(self.app.open(destination, self.snapshot))
    }
    /// The host asks for a confirmation.
    @discardableResult mutating func confirm(_ confirmation: ConfirmationRequest) -> Reaction? {
        guard let action = self.app.confirm(confirmation, self.snapshot) else { return nil }
        self.confirmations = (self.confirmations.count + 1, self.trace.count)
        return self.note(action)
    }
    @discardableResult mutating func enter(_ digits: String) -> Reaction? {
        let input = PINInput(typed: digits.utf8)
        if case .complete(let entry) = input { self.entries.append(WeakEntry(entry: entry)) }
        return self.note(self.app.enter(input, self.snapshot))
    }
    @discardableResult mutating func answer(_ answer: Answer) -> Reaction? {
        self.note(self.app.receive(answer, self.snapshot))
    }

    /// From the launch to the PIN screen of a wallet that is set up.
    mutating func launchToPIN(opening link: IncomingLink? = nil) {
        self.launch(link)
        self.timer()
        self.answer(.updatePolicy(.ok, solutionRevoked: false))
        self.answer(.status(.active))
    }

    /// From the launch to `Choose PIN`.
    mutating func launchToChoosing() {
        self.launch()
        self.timer()
        self.answer(.updatePolicy(.ok, solutionRevoked: false))
        self.tap(.skip)
        self.tap(.next)
    }

    /// To the dashboard of a wallet with an identity.
    static func atDashboard() -> AppUnderTest {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.launchToPIN()
        app.unlock()
        return app
    }

    /// The lock is carried out.
    @discardableResult mutating func locked() -> Reaction? {
        self.snapshot.isLocked = true
        return self.answer(.locked)
    }

    /// The registration is made.
    @discardableResult mutating func enrolled() -> Reaction? {
        self.snapshot.setup = .registered
        self.snapshot.isLocked = false
        return self.answer(.enrolled)
    }

    /// The prompt of the operating system ends.
    @discardableResult mutating func unlocked(_ result: PromptResult) -> Reaction? {
        if result == .confirmed { self.snapshot.isLocked = false }
        return self.answer(.prompted(result))
    }

    /// Enters the right PIN, on a screen that asks for one.
    mutating func unlock() {
        self.enter("024791")
        self.snapshot.isLocked = false
        self.answer(.verdict(.valid))
    }
}
