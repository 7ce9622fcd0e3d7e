import DeviceInterface
import Testing
import Vocabulary

@testable import SimulatedPhone

@Suite("How a phone answers its prompts")
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
        "a prompt confirms what it accepts, and what it has no field for sends it away",
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

    @Test("five mismatches in a row lock the sensor out, a match in between starts the count anew")
    func lockout() {
        var rules = self.rules()
        for _ in 0..<4 { #expect(rules.answer(Prompt(.unlock), .mismatch) == .rejected) }
        #expect(rules.answer(Prompt(.unlock), .match) == .confirmed)
        for _ in 0..<5 { #expect(rules.answer(Prompt(.unlock), .mismatch) == .rejected) }
        for presentation in Presentation.allCases {
            #expect(rules.answer(Prompt(.unlock), presentation) == .lockedOut)
        }
    }

    @Test("the passcode ends a lockout, a wrong one does not")
    func passcode() {
        var rules = self.rules(mismatches: 5)
        let either = Prompt(.unlock, accepts: .either)
        #expect(rules.answer(either, .wrongPasscode) == .rejected)
        #expect(rules.answer(either, .match) == .lockedOut)
        #expect(rules.answer(either, .passcode) == .confirmed)
        #expect(rules.answer(either, .match) == .confirmed)
    }

    @Test("a phone rejects as often as its profile says, then knows its owner")
    func rejections() {
        var rules = self.rules { $0.sensor = .reject(2) }
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .rejected)
        #expect(rules.profile.sensor == .reject(1))
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .rejected)
        #expect(rules.profile.sensor == .match)
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .confirmed)
    }

    @Test("a phone that rejects five times is locked out before its owner comes")
    func rejectionsAndLockout() {
        var rules = self.rules { $0.sensor = .reject(9) }
        for _ in 0..<5 { #expect(rules.answer(Prompt(.unlock), .byDevice) == .rejected) }
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .lockedOut)
        #expect(rules.profile.sensor == .reject(4))
    }

    @Test("a sensor that is locked out leaves the owner the passcode, where the prompt accepts it")
    func lockedOutSensor() {
        var rules = self.rules { $0.sensor = .lockout }
        #expect(rules.answer(Prompt(.unlock), .byDevice) == .lockedOut)
        #expect(rules.answer(Prompt(.unlock, accepts: .either), .byDevice) == .confirmed)
        #expect(rules.profile.sensor == .match)
    }

    @Test("a sensor that cancels and one that somebody else answers for confirm nothing by themselves")
    func unattended() {
        for sensor in [Sensor.cancel, .ask] {
            for accepts in UnlockMethod.allCases {
                var rules = self.rules { $0.sensor = sensor }
                #expect(rules.answer(Prompt(.unlock, accepts: accepts), .byDevice) == .cancelled)
            }
        }
    }

    @Test("where nobody is enrolled or there is no passcode there is nothing to prompt with")
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

    @Test("a locked screen shows no prompt, and counts nothing", arguments: Presentation.allCases)
    func screenLocked(presentation: Presentation) {
        var rules = self.rules { $0.isScreenLocked = true }
        let before = rules
        #expect(rules.answer(Prompt(.unlock, accepts: .either), presentation) == .cancelled)
        #expect(rules == before)
    }
}
