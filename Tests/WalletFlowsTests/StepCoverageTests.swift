import Presence
import struct TestSupport.SeededGenerator
import Testing
import Vocabulary

@testable import WalletFlows

/// Walks through the app at random, answering as a server and a person may, and notes every step.
@Suite("Every step of the flows")
struct StepCoverageTests {
    @Test("a random walk reaches every step that is built, and never a screen without a way on")
    func walk() {
        var generator = SeededGenerator(seed: 0x5EED_2026)
        print("seed: 0x5EED2026")
        var reached: Set<String> = []
        for _ in 0..<6000 {
            var walker = Walker(generator: generator)
            walker.walk(events: 60)
            reached.formUnion(walker.app.trace)
            generator = walker.generator
        }
        let missing = Self.steps.filter { !reached.contains($0) }
        #expect(missing.isEmpty, "not reached: \(missing.joined(separator: " "))")
        let unknown = reached.subtracting(Self.steps)
        #expect(unknown.isEmpty, "not a step of the flows: \(unknown.sorted().joined(separator: " "))")
    }

    /// flows.md's steps of the flows that are built; biometrics and links are not.
    static let steps: [String] = [
        Self.expand(
            "UC1.2",
            "1.1a 1.1b 2.1 2.1a 2.2a 2.2b 2.3a 2.4a 2.4b 2.4c 2.4d 2.4e 2.5a 2.5b 3.1a 3.1b 3.2a 3.2b"
        ),
        Self.expand("UC1.2", "3.3a 3.3b 3.4a 4.1 4.1a 4.1b 4.2 4.2a 4.2b 5.1 5.1a 5.1b 5.1c 5.2 5.2a 5.2b"),
        Self.expand("UC1.2", "6.1 6.1a 6.1b 6.2 6.2a 6.2b 7.1 7.1a 7.1b 7.2 7.2a 2.4"),
        Self.expand("PF1.4", "1.1 1.1a 1.1b 1.1c 1.1d 1.1e 1.1f 1.1g 1.1h 2.1 2.1a 2.1b 3.1 3.1a 3.1b"),
        Self.expand("UC1.1", "1.1 1.1a 1.1b 1.1c 1.2 1.2a 1.2b 1.2c 1.2d 1.3 1.3a 1.3b 1.3c 1.3d"),
        Self.expand("UC1.1", "1.4 1.4a 1.4b 1.4c 1.4d 1.5 1.5a"),
        Self.expand("PF2.9", "1.1 1.1a 1.1b 1.1c 1.2a 1.2b 1.3 1.3a 1.3b 1.3c 1.4a 1.4b 1.4c 1.5 1.5a 1.5b 1.5c 1.5d"),
        Self.expand("PF2.9", "2.1 2.1a 3.1 3.1a 4.1 4.1a 5.1 5.1a 5.1b 5.2 5.2a"),
        Self.expand("UC2.1", "1.1a 1.1b 1.2b 1.5 1.5a 1.6 1.6a 1.6b"),
        Self.expand("UC2.3", "1.1b 1.3 1.3a 1.3b 1.3c 1.4a 1.4b 1.4c 1.5a 1.5b 1.6a 1.7a 1.7b"),
        Self.expand("PF2.8", "1.1 1.1a 1.1b 1.1c 1.1d 1.1e 1.1f 1.1g 1.1h 1.1i 1.1j 1.1k 1.1l 1.1m"),
        Self.expand("PF2.8", "2.1 2.1a 2.1b 3.1 3.1a 3.1b 4.1 4.1a 4.1b 5.1 5.1a 5.1b 5.1c 5.1d 5.1e"),
        Self.expand("PF2.8", "6.1 6.1a 6.1b 7.1 7.1a 7.1b 8.1 8.1a 8.1b 9.1 9.1a 9.1b 10.1 10.1a 10.1b"),
        Self.expand("PF2.4", "1.1 1.1a 1.1b 1.1c 1.1d 1.1e 1.2a 1.2b 1.2c 1.3 1.4"),
        Self.expand("UC2.6", "1.1a 1.1b 1.2a 1.2b 1.3 1.3a 1.3b"),
        Self.expand("UC9.12", "1.1a 1.1b 1.2 1.2a"),
        Self.expand("UC9.4", "1.1 1.1a 1.1b 1.2 1.2a 1.2b"),
        Self.expand("UC7.1", "1.1 1.1a 1.2 1.2a 1.2b 1.2c 1.3 1.3a 1.3c 1.3d 1.3e"),
        Self.expand("UC9.2", "1.1 1.1a"),
        Self.expand("UC3.1", "1.1 1.1a 1.1b"),
        Self.expand("LOCK", "1.1 1.2"),
    ].flatMap { $0 }

    private static func expand(_ flow: String, _ numbers: String) -> [String] {
        numbers.split(separator: " ").map { "\(flow)/\($0)" }
    }
}

/// One walk: picks what a person could do next, or what a server could answer.
struct Walker {
    var app = AppUnderTest()
    var generator: SeededGenerator

    init(generator: SeededGenerator) {
        self.generator = generator
        self.app.facts.isRooted = self.chance(20)
        self.app.facts.hasPID = self.chance(2)
        self.app.facts.deletionCode = self.chance(3) ? nil : DeletionCode("0123456789ABCDEFGH")
        self.app.facts.setup = SetupProgress.allCases.randomElement(using: &self.generator) ?? .done
        if self.chance(2) { self.app.facts.setup = .done }
        if self.chance(4) { self.app.facts.lastRevocation = self.revocation() }
    }

    mutating func walk(events: Int) {
        self.app.launch()
        for _ in 0..<events {
            switch self.app.last {
            case .some(.ask(let effect)): self.answer(effect)
            case .some(.leave): self.app.resume()
            case .some(.show), .none: self.act()
            }
        }
    }

    private mutating func act() {
        guard let screen = self.app.screen, let scene = self.app.app.scene else { return }
        #expect(
            !screen.actions.isEmpty || !screen.inputs.isEmpty || scene.timer != nil,
            "a screen without a way on: \(screen.step)"
        )
        #expect(Set(screen.actions.map(\.id)).count == screen.actions.count, "the same action twice: \(screen.step)")
        #expect(!screen.title.isEmpty)
        if self.chance(20) {
            self.app.facts.isLocked = self.app.facts.isLocked || self.chance(2)
            self.app.resume()
        } else if scene.timer != nil, self.chance(2) {
            self.app.timer()
        } else if !screen.inputs.isEmpty, !self.chance(3) {
            self.app.enter(
                ["024791", "024791", "024791", "135790", "111111"].randomElement(using: &self.generator) ?? ""
            )
        } else if let action = screen.actions.randomElement(using: &self.generator) {
            self.app.tap(action.id)
        } else {
            self.app.timer()
        }
    }

    private mutating func answer(_ effect: Effect) {
        if self.chance(12) {
            self.app.answer(.failed(self.failure()))
            return
        }
        switch effect {
        case .askUpdatePolicy:
            let verdicts: [UpdateVerdict] = [
                .ok, .ok, .notify, .recommend, .warn(blockedIn: .seconds(60)), .block(updateAvailable: true),
                .block(updateAvailable: false),
            ]
            self.app.answer(
                .updatePolicy(verdicts.randomElement(using: &self.generator) ?? .ok, solutionRevoked: false)
            )
        case .askStatus:
            self.app.answer(.status(self.chance(10) ? .revoked(self.revocation()) : .active))
        case .checkPIN:
            self.judge(valid: {
                $0.facts.isLocked = false
                return .verdict(.valid)
            })
        case .enroll:
            self.succeed {
                $0.facts.setup = .registered
                $0.facts.isLocked = false
                return .enrolled
            }
        case .changePIN: self.judge(valid: { _ in .pinChanged })
        case .showDeletionCode:
            self.judge(valid: { $0.facts.deletionCode.map(Answer.deletionCode) ?? .verdict(.blockedPermanently) })
        case .wipe:
            let told = self.chance(2)
            self.succeed {
                $0.facts.setup = .notStarted
                return .wiped(serverTold: told)
            }
        case .keepProgress(let progress):
            self.succeed {
                $0.facts.setup = progress
                return .progressKept
            }
        case .prompt, .unlockWithBiometrics, .migrateBiometrics: self.app.answer(.prompted(.confirmed))
        case .enableBiometrics, .disableBiometrics: self.app.answer(.biometricsChanged)
        case .obtainPID: self.app.answer(.pid(nil))
        case .linkRecoveryCode: self.app.answer(.recoveryCodeLinked)
        case .lock:
            self.succeed {
                $0.facts.isLocked = true
                return .locked
            }
        }
    }

    private mutating func succeed(_ effect: (inout AppUnderTest) -> Answer) {
        let answer = effect(&self.app)
        self.app.answer(answer)
    }

    private mutating func judge(valid: (inout AppUnderTest) -> Answer) {
        guard self.chance(2) else { return self.succeed(valid) }
        let left = Int.random(in: 1...3, using: &self.generator)
        let verdicts: [PINVerdict] = [
            .wrong(.open(attemptsLeft: left, finalRound: false)), .wrong(.open(attemptsLeft: left, finalRound: true)),
            .wrong(.blocked(remaining: .seconds(60))), .wrong(.blockedPermanently), .blocked(remaining: .seconds(5)),
            .blockedPermanently,
        ]
        self.app.answer(.verdict(verdicts.randomElement(using: &self.generator) ?? .blockedPermanently))
    }

    private mutating func failure() -> Failure {
        let failures: [Failure] = [
            .noInternet, .serverUnreachable(notCounted: false), .deviceInsecure, .generic(correlationID: "c0ffee"),
            .revoked(self.revocation()),
        ]
        return failures.randomElement(using: &self.generator) ?? .noInternet
    }

    private mutating func revocation() -> Revocation {
        Revocation(
            reason: Revocation.Reason.allCases.randomElement(using: &self.generator) ?? .user,
            mayRegisterAnew: true
        )
    }

    private mutating func chance(_ oneIn: Int) -> Bool {
        Int.random(in: 0..<oneIn, using: &self.generator) == 0
    }
}
