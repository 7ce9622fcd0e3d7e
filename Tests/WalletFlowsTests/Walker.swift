@testable import WalletFlows
import struct TestSupport.SeededGenerator
import Testing
import Vocabulary

/// One walk, which picks a possible next action of the user, or a possible answer of server or device.
struct Walker {
    var app = AppUnderTest()
    var generator: SeededGenerator
    /// Collects the screens of the walk.
    var page = ScreenPage()
    /// One in so many events is trouble: calm walks come far, the others see the errors.
    private var trouble = 12
    /// Another person than the owner holds the phone.
    private var isHeldByStranger = false

    init(generator: SeededGenerator) {
        self.generator = generator
        if self.chance(2) { self.trouble = 100 }
        self.isHeldByStranger = self.chance(6)
        self.app.snapshot.isRooted = self.chance(20)
        self.app.snapshot.hasPID = self.chance(2)
        self.app.snapshot.deletionCode = self.chance(3) ? nil : DeletionCode("0123456789ABCDEFGH")
        self.app.snapshot.setup = self.pick(SetupProgress.allCases)
        if self.chance(2) { self.app.snapshot.setup = .done }
        if self.chance(4) { self.app.snapshot.lastRevocation = self.revocation() }
        self.app.snapshot.platform = self.pick([.android, .iOS])
        self.app.snapshot.biometrics = self.pick(BiometricSupport.allCases)
        self.app.snapshot.hasPasscode = self.chance(2)
        self.app.snapshot.wantsSafeMode = self.chance(2)
        if self.app.snapshot.setup != .notStarted {
            self.app.snapshot.biometricMode = self.pick(BiometricMode.allCases)
        }
        if self.chance(4) { self.app.snapshot.hostSession = self.pick(HostSession.allCases) }
        self.app.snapshot.hostAllowsPrompt = self.chance(2)
        if self.chance(10) { self.app.snapshot.pinState = .open(attemptsLeft: 1, finalRound: self.chance(2)) }
    }

    mutating func walk(events: Int) {
        self.launch()
        for step in 0..<events {
            switch self.app.last {
            case .some(.ask(let effect)):
                if step.isMultiple(of: 10) { Invariants.checkAnswers(self.app, to: effect) }
                self.answer(effect)
            case .some(.leave): self.app.resume(self.link())
            case .some(.show), .none: self.act()
            }
            Invariants.check(self.app)
            if case .some(.show(let scene)) = self.app.last { self.page.add(scene, self.app.snapshot) }
            if self.chance(10) { Invariants.checkTexts(self.app) }
        }
    }

    /// Any event at any time, also in an order that no host should use.
    mutating func chaos(events: Int) {
        self.app.toleratesIgnored = true
        self.launch()
        for _ in 0..<events {
            switch Int.random(in: 0..<13, using: &self.generator) {
            case 0: self.app.tap(self.pick(ActionID.allCases))
            case 1: self.app.enter(self.pick(["024791", "12", "135790"]))
            case 2: self.app.present(self.pick(Presentation.allCases))
            case 3: self.app.timer()
            case 4: self.app.answer(self.anyAnswer())
            case 5: self.app.resume(self.link())
            case 6: self.app.background()
            case 7: self.app.snapshot.isLocked = self.chance(2)
            case 8: self.app.open(self.pick([.changePIN, .deletionCode, .wipe]))
            case 9: if let confirmation = Self.confirmation { self.app.confirm(confirmation) }
            case 10: self.app.app.noteResume(opening: self.link(), self.app.snapshot)
            case _: self.step()
            }
            if self.chance(3) { self.wait() }
            Invariants.checkLock(self.app)
            Invariants.checkConfirmations(self.app)
        }
    }

    private static let confirmation = try? ConfirmationRequest(title: "(title)", details: "(details)")

    private mutating func step() {
        if case .some(.ask(let effect)) = self.app.last { self.answer(effect) } else { self.act() }
    }

    private mutating func launch() {
        self.app.snapshot.isLocked = true
        self.app.launch(self.link())
    }

    private mutating func act() {
        guard let screen = self.app.screen, let scene = self.app.app.scene else { return }
        if self.chance(10), let confirmation = Self.confirmation, self.app.confirm(confirmation) != nil {
            return
        } else if self.chance(self.trouble) {
            self.leaveAndReturn()
        } else if self.chance(self.trouble) {
            self.wait()
        } else if scene.timer != nil, self.chance(2) {
            self.app.timer()
        } else if scene.prompt != nil {
            self.app.present(self.pick(Presentation.allCases))
        } else if scene.input != nil, !self.chance(3) {
            self.app.enter(self.pick(["024791", "024791", "024791", "135790", "111111"]))
        } else if let action = screen.actions.randomElement(using: &self.generator) {
            self.app.tap(action.id)
        } else {
            self.app.timer()
        }
    }

    private mutating func leaveAndReturn() {
        if self.chance(2) { self.app.background() }
        self.app.wait(self.pick([1, 100, 400]))
        if self.chance(6) { self.app.snapshot.isLocked = true }
        if self.chance(8) { self.launch() } else { self.app.resume(self.link()) }
    }

    private mutating func wait() {
        self.app.wait(self.pick([10, 245, 245, 310]))
        self.app.timeDue()
    }

    private mutating func answer(_ effect: Effect) {
        if effect != .obtainPID, self.chance(self.trouble) {
            self.app.answer(.failed(self.failure()))
            return
        }
        switch effect {
        case .askUpdatePolicy: self.app.answer(.updatePolicy(self.update(), solutionRevoked: false))
        case .askStatus: self.app.answer(.status(self.chance(self.trouble) ? .revoked(self.revocation()) : .active))
        case .askPINState:
            let states: [PINState] = [
                .open(attemptsLeft: 4, finalRound: false), .blocked(remaining: .seconds(60)), .blockedPermanently,
            ]
            self.app.answer(.pinState(self.pick(states)))
        case .checkPIN:
            self.judge {
                $0.isLocked = false
            } valid: { _ in
                .verdict(.valid)
            }
        case .enroll:
            self.app.snapshot.setup = .registered
            self.app.snapshot.biometricMode = .off
            self.app.enrolled()
        case .changePIN:
            self.judge { _ in
            } valid: { _ in
                .pinChanged
            }
        case .showDeletionCode:
            self.judge { _ in
            } valid: {
                $0.deletionCode.map(Answer.deletionCode) ?? .verdict(.blockedPermanently)
            }
        case .wipe: self.wiped()
        case .keepProgress(let progress):
            self.app.snapshot.setup = progress
            self.app.answer(.progressKept)
        case .prompt: self.app.answer(.prompted(self.promptResult()))
        case .unlockWithBiometrics: self.app.unlocked(self.promptResult())
        case .confirmWithBiometrics:
            // The session may withdraw the flag.
            if self.chance(6) {
                self.app.snapshot.wantsSafeMode = false
                self.app.snapshot.biometricMode = .fallback
            }
            self.app.answer(.prompted(self.promptResult()))
        case .migrateBiometrics: self.migrated()
        case .enableBiometrics where self.chance(10), .disableBiometrics where self.chance(10):
            self.app.answer(.failed(self.failure()))
        case .enableBiometrics(let method):
            self.app.snapshot.biometricMode = self.app.snapshot.wantsSafeMode ? .safe : .fallback
            self.app.snapshot.unlockMethod = method
            self.app.answer(.biometricsChanged)
        case .disableBiometrics:
            self.app.snapshot.biometricMode = .off
            self.app.answer(.biometricsChanged)
        case .obtainPID: self.app.answer(.pid(self.chance(3) ? nil : RecoveryCode("NL-7".utf8)))
        case .linkRecoveryCode where self.chance(20):
            let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
            self.app.answer(.failed(.revoked(revocation)))
        case .linkRecoveryCode:
            self.judge {
                $0.hasPID = true
            } valid: { _ in
                .recoveryCodeLinked
            }
        case .lock: self.app.locked()
        }
    }

    private mutating func wiped() {
        let told = self.chance(2)
        self.app.snapshot.setup = .notStarted
        self.app.snapshot.isLocked = true
        self.app.snapshot.hasPID = false
        self.app.snapshot.biometricMode = .off
        self.app.answer(.wiped(serverTold: told))
    }

    private mutating func migrated() {
        let result = self.promptResult()
        if result == .confirmed { self.app.snapshot.biometricMode = .safe }
        self.app.answer(.prompted(result))
    }

    private mutating func judge(_ change: (inout Snapshot) -> Void, valid: (Snapshot) -> Answer) {
        guard self.chance(self.trouble > 50 ? 10 : 2) else {
            change(&self.app.snapshot)
            self.app.answer(valid(self.app.snapshot))
            return
        }
        let left = Int.random(in: 1...3, using: &self.generator)
        self.app.answer(
            .verdict(
                self.pick([
                    .wrong(.open(attemptsLeft: left, finalRound: false)),
                    .wrong(.open(attemptsLeft: left, finalRound: true)), .wrong(.blocked(remaining: .seconds(60))),
                    .wrong(.blockedPermanently), .blocked(remaining: .seconds(5)), .blockedPermanently,
                ])
            )
        )
    }

    private mutating func anyAnswer() -> Answer {
        self.pick([
            .updatePolicy(self.update(), solutionRevoked: self.chance(2)), .status(.active), .status(.mustEnrollAnew),
            .status(.revoked(self.revocation())), .verdict(.valid), .verdict(.blocked(remaining: .seconds(9))),
            .enrolled, .pinChanged, .wiped(serverTold: false), .progressKept, .prompted(self.promptResult()),
            .biometricsChanged, .pid(RecoveryCode("NL-7".utf8)), .pid(nil), .recoveryCodeLinked, .locked,
            .failed(self.failure()),
        ])
    }

    private mutating func update() -> UpdateVerdict {
        guard self.chance(self.trouble > 50 ? 10 : 1) else { return .ok }
        return self.anyUpdate()
    }

    private mutating func anyUpdate() -> UpdateVerdict {
        self.pick([
            .ok, .ok, .notify, .recommend, .warn(blockedIn: .seconds(60)), .block(updateAvailable: true),
            .block(updateAvailable: false),
        ])
    }

    private mutating func promptResult() -> PromptResult {
        if self.isHeldByStranger { return .rejected }
        guard self.chance(self.trouble > 50 ? 3 : 1) else { return .confirmed }
        return self.pick(PromptResult.allCases + [.confirmed, .confirmed, .rejected, .rejected, .rejected, .rejected])
    }

    private mutating func link() -> IncomingLink? {
        guard self.chance(3) else { return nil }
        let url = self.pick(["https://wallet.example.org/link/login", "https://example.org/elsewhere"])
        return IncomingLink(url, from: self.pick(IncomingLink.Source.allCases))
    }

    private mutating func failure() -> Failure {
        self.pick([
            .noInternet, .serverUnreachable(notCounted: false), .deviceInsecure,
            .generic(correlationID: "c0ffee", cause: self.pick(FailureCause.allCases)), .revoked(self.revocation()),
        ])
    }

    private mutating func revocation() -> Revocation {
        Revocation(reason: self.pick(Revocation.Reason.allCases), mayRegisterAnew: true)
    }

    private mutating func chance(_ oneIn: Int) -> Bool {
        Int.random(in: 0..<oneIn, using: &self.generator) == 0
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &self.generator)]
    }
}
