@testable import WalletFlows
import Testing

@Suite("UC2.2 Biometrics on or off, and the prompts of UC2.1 and UC2.6")
struct ManageBiometricsTests {
    static func atStatus(_ mode: BiometricMode, _ biometrics: BiometricSupport, passcode: Bool) -> AppUnderTest {
        var app = AppUnderTest.atDashboard()
        app.snapshot.biometrics = biometrics
        app.snapshot.hasPasscode = passcode
        app.snapshot.biometricMode = mode
        app.tap(.menu)
        app.tap(.settings)
        app.tap(.biometrics)
        return app
    }

    @Test("enabling takes the prompt, then the PIN")
    func enable() {
        var app = Self.atStatus(.off, .face, passcode: false)
        #expect(app.state == .shows("UC2.2/1.1"))
        #expect(app.screen?.actions.map(\.id) == [.enable, .back])
        #expect(app.tap(.enable) == .shows("UC2.2/1.3"))
        #expect(app.present() == .asks(.prompt(Prompt(.enable), .match)))
        #expect(app.answer(.prompted(.confirmed)) == .shows("PF2.4/1.1"))
        ChangePINTests.confirm(&app)
        #expect(app.state == .asks(.enableBiometrics(.biometric)))
        app.snapshot.biometricMode = .fallback
        #expect(app.answer(.biometricsChanged) == .shows("UC2.2/1.1"))
        #expect(app.screen?.actions.map(\.id) == [.disable, .back])
        #expect(app.trace.suffix(4).first == "PF1.4/1.1a")
        #expect(app.trace.suffix(3) == ["UC2.2/1.4a", "UC2.2/1.5", "UC2.2/1.1"])
        #expect(app.tap(.back) == .shows("UC7.1/1.3"))
    }

    @Test(
        "a device with more than one unlock method asks for one",
        arguments: [
            (ActionID.biometric, UnlockMethod.biometric), (.devicePasscode, .passcode), (.either, .either),
        ]
    )
    func methods(_ expected: (ActionID, UnlockMethod)) {
        var app = Self.atStatus(.off, .fingerprint, passcode: true)
        #expect(app.tap(.enable) == .shows("UC2.2/1.7"))
        #expect(app.screen?.title == "Unlock with")
        #expect(app.screen?.actions.map(\.title) == ["Biometric", "Device passcode", "Either"])
        #expect(app.tap(expected.0) == .shows("UC2.2/1.3"))
        #expect(app.app.scene?.prompt == Prompt(.enable, accepts: expected.1))
        app.present()
        app.answer(.prompted(.confirmed))
        ChangePINTests.confirm(&app)
        #expect(app.state == .asks(.enableBiometrics(expected.1)))
    }

    @Test("a sensor without an enrolled biometric asks to enroll one first", arguments: [true, false])
    func notEnrolled(passcode: Bool) {
        var app = Self.atStatus(.off, .notEnrolled, passcode: passcode)
        #expect(app.tap(.enable) == .shows("UC2.2/1.2"))
        #expect(app.screen?.kind == .prompt)
        #expect(app.tap(.ok) == .shows("UC2.2/1.1"))
    }

    @Test("without a sensor the passcode serves, if the device has one")
    func passcodeOnly() {
        var app = Self.atStatus(.off, .none, passcode: true)
        #expect(app.tap(.enable) == .shows("UC2.2/1.3"))
        #expect(app.app.scene?.prompt?.accepts == .passcode)
        app = Self.atStatus(.off, .none, passcode: false)
        #expect(app.tap(.enable) == .shows("UC2.2/1.2"))
    }

    @Test("a prompt without confirmation, and Back at the PIN, leave biometrics off")
    func notEnabled() {
        var app = Self.atStatus(.off, .face, passcode: false)
        app.tap(.enable)
        app.present(.cancel)
        #expect(app.answer(.prompted(.cancelled)) == .shows("UC2.2/1.1"))
        #expect(app.trace.contains("UC2.2/1.3b"))
        app.tap(.enable)
        app.present()
        app.answer(.prompted(.confirmed))
        #expect(app.tap(.back) == .shows("UC2.2/1.1"))
        #expect(app.trace.contains("UC2.2/1.4b"))
    }

    @Test("disabling in the PIN-fallback mode takes no prompt")
    func disableFallback() {
        var app = Self.atStatus(.fallback, .face, passcode: false)
        #expect(app.tap(.disable) == .asks(.disableBiometrics))
        app.snapshot.biometricMode = .off
        #expect(app.answer(.biometricsChanged) == .shows("UC2.2/1.1"))
        #expect(app.trace.suffix(2) == ["UC2.2/1.6", "UC2.2/1.1"])
    }

    @Test("disabling in safe mode takes the prompt first", arguments: [true, false])
    func disableSafe(isConfirmed: Bool) {
        var app = Self.atStatus(.safe, .face, passcode: false)
        #expect(app.tap(.disable) == .shows("UC2.2/1.3"))
        #expect(app.present() == .asks(.prompt(Prompt(.disable), .match)))
        let state = app.answer(.prompted(isConfirmed ? .confirmed : .lockedOut))
        #expect(state == (isConfirmed ? .asks(.disableBiometrics) : .shows("UC2.2/1.1")))
    }

    @Test("an error of disabling can be tried again, and Close leads back")
    func errors() {
        var app = Self.atStatus(.fallback, .face, passcode: false)
        app.tap(.disable)
        #expect(app.answer(.failed(.generic(correlationID: "c0ffee", cause: .serverInternal))) == .shows("UC2.2/1.6"))
        #expect(app.tap(.retry) == .asks(.disableBiometrics))
        app.answer(.failed(.noInternet))
        #expect(app.tap(.close) == .shows("UC2.2/1.1"))
    }

    @Test("in safe mode a change of the PIN begins with the prompt (SB11)", arguments: [true, false])
    func changeInSafeMode(isConfirmed: Bool) {
        var app = AppUnderTest.atDashboard()
        app.snapshot.biometricMode = .safe
        app.tap(.menu)
        app.tap(.settings)
        #expect(app.tap(.changePIN) == .shows("UC2.2/1.3"))
        #expect(app.present() == .asks(.prompt(Prompt(.changePIN), .match)))
        let state = app.answer(.prompted(isConfirmed ? .confirmed : .rejected))
        #expect(state == .shows(isConfirmed ? "PF2.4/1.1" : "UC7.1/1.3"))
        #expect(app.trace.contains(isConfirmed ? "UC2.2/1.3a" : "UC2.2/1.3b"))
    }

    @Test(
        "a setup names the kind of biometric that the device has",
        arguments: [
            (BiometricSupport.face, "Do you want to unlock the app with Face ID?"),
            (.fingerprint, "Do you want to unlock the app with Fingerprint?"),
        ]
    )
    func setup(_ expected: (BiometricSupport, String)) {
        var app = Self.atConfiguring(expected.0)
        #expect(app.state == .shows("UC2.1/1.3"))
        #expect(app.screen?.title == "Configure Biometrics")
        #expect(app.screen?.message == expected.1)
        #expect(app.screen?.actions.map(\.id) == [.enable, .skip, .info])
        #expect(app.tap(.enable) == .shows("UC2.1/1.4"))
        #expect(app.present() == .asks(.prompt(Prompt(.enable), .match)))
        #expect(app.answer(.prompted(.confirmed)) == .asks(.enableBiometrics(.biometric)))
        #expect(app.answer(.biometricsChanged) == .shows("UC2.1/1.5"))
        #expect(
            app.trace.suffix(7) == [
                "UC2.1/1.1a", "UC2.1/1.2a", "UC2.1/1.3", "UC2.1/1.3a", "UC2.1/1.4", "UC2.1/1.4a", "UC2.1/1.5",
            ]
        )
    }

    @Test("a rejected prompt of the setup leads back, and Skip continues")
    func setupRejected() {
        var app = Self.atConfiguring(.face)
        app.tap(.enable)
        app.present()
        #expect(app.answer(.prompted(.rejected)) == .shows("UC2.1/1.3"))
        #expect(app.trace.contains("UC2.1/1.4b"))
        #expect(app.tap(.skip) == .shows("UC2.1/1.5"))
    }

    @Test("an interrupted setup offers biometrics unless they are on", arguments: [true, false])
    func setupAgain(isOn: Bool) {
        var app = AppUnderTest(setup: .registered)
        app.snapshot.biometrics = .face
        app.launchToPIN()
        app.snapshot.biometricMode = isOn ? .fallback : .off
        app.unlock()
        #expect(app.state == .shows(isOn ? "UC2.1/1.5" : "UC2.1/1.3"))
    }

    static func atConfiguring(_ biometrics: BiometricSupport) -> AppUnderTest {
        var app = AppUnderTest()
        app.snapshot.biometrics = biometrics
        app.launchToChoosing()
        app.enter("024791")
        app.enter("024791")
        app.enrolled()
        return app
    }
}
