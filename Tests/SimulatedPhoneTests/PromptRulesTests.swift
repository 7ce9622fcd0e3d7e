import WalletFlows
import Testing
import Vocabulary

@testable import SimulatedPhone

@Suite("Rules for answering prompts")
struct PromptRulesTests {
    private func rules(_ change: (inout DeviceProfile) -> Void = { _ in }, mismatches: Int = 0) -> PromptRules {
        var profile = DeviceProfile(.android)
        profile.biometrics = .fingerprint
        change(&profile)
        return PromptRules(profile: profile, mismatches: mismatches)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let accepts: UnlockMethod
        let presentation: Presentation
        let result: PromptResult
        var testDescription: String { "\(self.accepts) \(self.presentation): \(self.result)" }
    }

    @Test(
        "an accepted input confirms a prompt, and an input that it does not accept dismisses it",
        arguments: [
            Case(accepts: .biometric, presentation: .match, result: .confirmed),
            Case(accepts: .biometric, presentation: .mismatch, result: .rejected),
            Case(accepts: .biometric, presentation: .passcode, result: .cancelled),
            Case(accepts: .biometric, presentation: .wrongPasscode, result: .cancelled),
            Case(accepts: .biometric, presentation: .cancel, result: .cancelled),
            Case(accepts: .passcode, presentation: .match, result: .cancelled),
            Case(accepts: .passcode, presentation: .mismatch, result: .cancelled),
            Case(accepts: .passcode, presentation: .passcode, result: .confirmed),
            Case(accepts: .passcode, presentation: .wrongPasscode, result: .rejected),
            Case(accepts: .either, presentation: .match, result: .confirmed),
            Case(accepts: .either, presentation: .mismatch, result: .rejected),
            Case(accepts: .either, presentation: .passcode, result: .confirmed),
            Case(accepts: .either, presentation: .wrongPasscode, result: .rejected),
            Case(accepts: .either, presentation: .cancel, result: .cancelled),
        ]
    )
    func presentations(_ item: Case) {
        var rules = self.rules()
        #expect(rules.answer(Prompt(.unlock, accepts: item.accepts), item.presentation) == item.result)
    }

    @Test("five consecutive mismatches lock the sensor out, and a match resets the count")
    func lockout() {
        var rules = self.rules()
        for _ in 0..<4 { #expect(rules.answer(Prompt(.unlock), .mismatch) == .rejected) }
        #expect(rules.answer(Prompt(.unlock), .match) == .confirmed)
        for _ in 0..<5 { #expect(rules.answer(Prompt(.unlock), .mismatch) == .rejected) }
        for presentation in Presentation.allCases {
            #expect(rules.answer(Prompt(.unlock), presentation) == .lockedOut)
        }
    }

    @Test("the passcode ends a lockout, and a wrong passcode does not")
    func passcode() {
        var rules = self.rules(mismatches: 5)
        let either = Prompt(.unlock, accepts: .either)
        #expect(rules.answer(either, .wrongPasscode) == .rejected)
        #expect(rules.answer(either, .match) == .lockedOut)
        #expect(rules.answer(either, .passcode) == .confirmed)
        #expect(rules.answer(either, .match) == .confirmed)
    }

    @Test("a phone rejects as often as its profile states, then recognizes its owner")
    func rejections() {
        var rules = self.rules { $0.sensor = .reject(2) }
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .rejected)
        #expect(rules.profile.sensor == .reject(1))
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .rejected)
        #expect(rules.profile.sensor == .match)
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .confirmed)
    }

    @Test("a phone that rejects five times is locked out before it recognizes its owner")
    func rejectionsAndLockout() {
        var rules = self.rules { $0.sensor = .reject(9) }
        for _ in 0..<5 { #expect(rules.answer(Prompt(.unlock), .byDevice) == .rejected) }
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .lockedOut)
        #expect(rules.profile.sensor == .reject(4))
    }

    @Test("during a lockout the owner can enter the passcode if the prompt accepts it")
    func lockedOutSensor() {
        var rules = self.rules { $0.sensor = .lockout }
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .lockedOut)
        #expect(rules.answer(Prompt(.unlock, accepts: .either), .byDevice) == .confirmed)
        #expect(rules.profile.sensor == .match)
    }

    @Test("the sensor settings cancel and ask confirm nothing")
    func unattended() {
        for sensor in [Sensor.cancel, .ask] {
            for accepts in UnlockMethod.allCases {
                var rules = self.rules { $0.sensor = sensor }
                #expect(rules.answer(Prompt(.unlock, accepts: accepts), .byDevice) == .cancelled)
            }
        }
    }

    @Test("without an enrolled biometric or a passcode the prompt is unavailable")
    func unavailable() {
        for biometrics in [BiometricSupport.none, .notEnrolled] {
            var rules = self.rules { $0.biometrics = biometrics }
            #expect(rules.answer(Prompt(.unlock), .match) == .unavailable)
            #expect(rules.answer(Prompt(.unlock, accepts: .either), .match) == .cancelled)
            #expect(rules.answer(Prompt(.unlock, accepts: .either), .byDevice) == .confirmed)
        }
        var rules = self.rules { $0.hasPasscode = false }
        for accepts in UnlockMethod.allCases {
            #expect(rules.answer(Prompt(.unlock, accepts: accepts), .match) == .unavailable)
        }
    }

    @Test("a locked screen shows no prompt and counts nothing", arguments: Presentation.allCases)
    func screenLocked(presentation: Presentation) {
        var rules = self.rules { $0.isScreenLocked = true }
        let before = rules
        #expect(rules.answer(Prompt(.unlock, accepts: .either), presentation) == .cancelled)
        #expect(rules == before)
    }
}
