import DeviceInterface
import Secrets
import Vocabulary

@testable import WalletFlows

/// The app's state machine with a transcript: what was done to it, and what it did.
struct AppUnderTest {
    var app = AppStateMachine()
    var facts: Facts
    private(set) var last: AppStateMachine.Action?
    /// What it was told with the event that led to `last`.
    private(set) var factsOfLast: Facts
    /// Every step since the beginning.
    private(set) var trace: [String] = []
    /// Every event for the host since the beginning.
    private(set) var events: [AppEvent] = []

    init(setup: SetupProgress = .notStarted) {
        self.facts = Facts(now: Timestamp(milliseconds: 1_000_000), appVersion: AppUnderTest.version)
        self.facts.setup = setup
        self.factsOfLast = self.facts
    }

    static var version: AppVersion {
        guard let version = AppVersion("1.0.0") else { preconditionFailure("a version") }
        return version
    }

    /// The present screen, in English.
    var screen: Screen? {
        self.app.scene.map { Wording().screen($0, at: self.facts.now) }
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
            self.factsOfLast = self.facts
        }
        self.trace += self.app.takeTrace().map(\.description)
        self.events += self.app.takeEvents()
        if case .some(.leave(let event, _)) = action { self.events.append(event) }
        return action == nil ? "not offered" : self.state
    }

    /// The text of a value that the present screen shows.
    func value(_ name: String) -> Screen.Value? { self.screen?.values[name] }

    @discardableResult mutating func launch(_ link: IncomingLink? = nil) -> String {
        self.note(self.app.launch(self.facts, opening: link))
    }
    @discardableResult mutating func resume(_ link: IncomingLink? = nil) -> String {
        self.note(self.app.resume(self.facts, opening: link))
    }
    @discardableResult mutating func open(_ link: IncomingLink) -> String {
        self.note(self.app.open(link: link, self.facts))
    }
    mutating func background() { self.app.background(self.facts) }
    /// What an app that is out of sight does when it is looked at there.
    @discardableResult mutating func forget() -> String {
        guard self.app.timeToForget(self.facts) == .zero else { return "nothing" }
        self.app.forget(self.facts)
        self.facts.isLocked = true
        self.note(nil)
        return "forgotten"
    }
    @discardableResult mutating func timeDue() -> String { self.note(self.app.timeDue(self.facts)) }
    @discardableResult mutating func present(_ presentation: Presentation = .match) -> String {
        self.note(self.app.present(presentation, self.facts))
    }
    mutating func wait(_ seconds: Int64) { self.facts.now = self.facts.now + .seconds(seconds) }
    @discardableResult mutating func tap(_ action: ActionID) -> String {
        self.note(self.app.select(action, self.facts))
    }
    @discardableResult mutating func timer() -> String { self.note(self.app.timerFired(self.facts)) }
    @discardableResult mutating func open(_ place: AppStateMachine.Destination) -> String {
        self.note(self.app.open(place, self.facts))
    }
    @discardableResult mutating func enter(_ digits: String) -> String {
        self.note(self.app.enter(PINInput(typed: digits.utf8), self.facts))
    }
    @discardableResult mutating func answer(_ answer: Answer) -> String {
        self.note(self.app.receive(answer, self.facts))
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
        app.facts.hasPID = true
        app.launchToPIN()
        app.unlock()
        return app
    }

    /// The lock is carried out.
    @discardableResult mutating func locked() -> String {
        self.facts.isLocked = true
        return self.answer(.locked)
    }

    /// The registration is made.
    @discardableResult mutating func enrolled() -> String {
        self.facts.setup = .registered
        self.facts.isLocked = false
        return self.answer(.enrolled)
    }

    /// What the operating system's prompt brought.
    @discardableResult mutating func unlocked(_ result: PromptResult) -> String {
        if result == .confirmed { self.facts.isLocked = false }
        return self.answer(.prompted(result))
    }

    /// The right PIN, from a screen that asks for one.
    mutating func unlock() {
        self.enter("024791")
        self.facts.isLocked = false
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
