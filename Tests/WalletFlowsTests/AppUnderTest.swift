import DeviceInterface
import Secrets
import Vocabulary

@testable import WalletFlows

/// The app's state machine with a transcript: what was done to it, and what it did.
struct AppUnderTest {
    var app = AppStateMachine()
    var snapshot: Snapshot
    private(set) var last: AppStateMachine.Action?
    /// What it was told with the event that led to `last`.
    private(set) var snapshotOfLast: Snapshot
    /// Every step since the beginning.
    private(set) var trace: [String] = []
    /// Every event for the host since the beginning.
    private(set) var events: [AppEvent] = []

    init(setup: SetupProgress = .notStarted) {
        self.snapshot = Snapshot(now: Timestamp(milliseconds: 1_000_000), appVersion: AppUnderTest.version)
        self.snapshot.setup = setup
        self.snapshotOfLast = self.snapshot
    }

    static var version: AppVersion {
        guard let version = AppVersion("1.0.0") else { preconditionFailure("a version") }
        return version
    }

    /// The present screen, in English.
    var screen: Screen? {
        self.app.scene.map { Wording().screen($0, at: self.snapshot.now) }
    }

    /// The step of the present screen, or what is asked for.
    var state: String {
        switch self.last {
        case .some(.ask(let effect)): "ask \(effect.name)"
        case .some(.leave(let event, _)): "left: \(event.name)"
        case .some(.show(let scene)): scene.step.description
        case .none: "nothing"
        }
    }

    @discardableResult
    mutating func note(_ action: AppStateMachine.Action?) -> String {
        if let action {
            self.last = action
            self.snapshotOfLast = self.snapshot
        }
        self.trace += self.app.takeTrace().map(\.description)
        self.events += self.app.takeEvents()
        if case .some(.leave(let event, _)) = action { self.events.append(event) }
        return action == nil ? "not offered" : self.state
    }

    /// The text of a value that the present screen shows.
    func value(_ name: String) -> Screen.Value? { self.screen?.values[name] }

    @discardableResult mutating func launch(_ link: IncomingLink? = nil) -> String {
        self.note(self.app.launch(self.snapshot, opening: link))
    }
    @discardableResult mutating func resume(_ link: IncomingLink? = nil) -> String {
        self.note(self.app.resume(self.snapshot, opening: link))
    }
    @discardableResult mutating func open(_ link: IncomingLink) -> String {
        self.note(self.app.open(link: link, self.snapshot))
    }
    mutating func background() { self.app.background(self.snapshot) }
    /// What an app that is out of sight does when it is looked at there.
    @discardableResult mutating func forget() -> String {
        guard self.app.timeToForget(self.snapshot) == .zero else { return "nothing" }
        self.app.forget(self.snapshot)
        self.snapshot.isLocked = true
        self.note(nil)
        return "forgotten"
    }
    @discardableResult mutating func timeDue() -> String { self.note(self.app.timeDue(self.snapshot)) }
    @discardableResult mutating func present(_ presentation: Presentation = .match) -> String {
        self.note(self.app.present(presentation, self.snapshot))
    }
    mutating func wait(_ seconds: Int64) { self.snapshot.now = self.snapshot.now + .seconds(seconds) }
    @discardableResult mutating func tap(_ action: ActionID) -> String {
        self.note(self.app.select(action, self.snapshot))
    }
    @discardableResult mutating func timer() -> String { self.note(self.app.timerFired(self.snapshot)) }
    @discardableResult mutating func open(_ place: AppStateMachine.Destination) -> String {
        self.note(self.app.open(place, self.snapshot))
    }
    @discardableResult mutating func enter(_ digits: String) -> String {
        self.note(self.app.enter(PINInput(typed: digits.utf8), self.snapshot))
    }
    @discardableResult mutating func answer(_ answer: Answer) -> String {
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
    @discardableResult mutating func locked() -> String {
        self.snapshot.isLocked = true
        return self.answer(.locked)
    }

    /// The registration is made.
    @discardableResult mutating func enrolled() -> String {
        self.snapshot.setup = .registered
        self.snapshot.isLocked = false
        return self.answer(.enrolled)
    }

    /// What the operating system's prompt brought.
    @discardableResult mutating func unlocked(_ result: PromptResult) -> String {
        if result == .confirmed { self.snapshot.isLocked = false }
        return self.answer(.prompted(result))
    }

    /// The right PIN, from a screen that asks for one.
    mutating func unlock() {
        self.enter("024791")
        self.snapshot.isLocked = false
        self.answer(.verdict(.valid))
    }
}

extension Effect {
    var name: String {
        switch self {
        case .askUpdatePolicy: "update policy"
        case .askStatus: "status"
        case .checkPIN: "check PIN"
        case .enroll: "enroll"
        case .changePIN: "change PIN"
        case .showDeletionCode: "deletion code"
        case .wipe: "wipe"
        case .keepProgress(let progress): "keep \(progress.rawValue)"
        case .prompt(let prompt, _): "prompt to \(prompt.purpose.rawValue)"
        case .unlockWithBiometrics: "unlock with biometrics"
        case .enableBiometrics(let method): "enable \(method.rawValue)"
        case .disableBiometrics: "disable biometrics"
        case .migrateBiometrics: "migrate biometrics"
        case .obtainPID: "obtain PID"
        case .linkRecoveryCode: "link recovery code"
        case .lock: "lock"
        }
    }
}
