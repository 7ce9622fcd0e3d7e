@testable import WalletFlows
import Testing
import Vocabulary

@Suite("UC2.3 Unlock the app with biometrics")
struct BiometricUnlockTests {
    static func atPrompt(_ mode: BiometricMode, _ platform: Platform = .android) -> AppUnderTest {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.snapshot.platform = platform
        app.snapshot.biometrics = .fingerprint
        app.snapshot.biometricMode = mode
        app.snapshot.wantsSafeMode = mode == .safe
        app.launchToPIN()
        return app
    }

    /// Answers the open prompt.
    static func present(_ app: inout AppUnderTest, _ result: PromptResult) -> AppUnderTest.Reaction? {
        #expect(app.present(.mismatch) == .asks(.unlockWithBiometrics(.mismatch)))
        return app.unlocked(result)
    }

    @Test("a confirmed prompt unlocks without the PIN", arguments: [BiometricMode.fallback, .safe])
    func confirmed(mode: BiometricMode) {
        var app = Self.atPrompt(mode)
        #expect(app.state == .shows("UC2.3/1.2"))
        #expect(app.screen?.kind == .osPrompt)
        #expect(app.screen?.inputs.map(\.id) == ["biometric"])
        #expect(Self.present(&app, .confirmed) == .shows("UC7.1/1.1"))
        #expect(
            app.trace.suffix(8) == [
                "UC2.3/1.1a", "UC2.3/1.2", "UC2.3/1.2a", "UC2.3/1.5a", "PF2.7/1.1a", "UC2.3/1.6a", "UC2.3/1.7b",
                "UC7.1/1.1",
            ]
        )
    }

    @Test("on iOS the first rejection can be tried again, the second asks for the PIN")
    func rejectedOnIOS() {
        var app = Self.atPrompt(.fallback, .iOS)
        #expect(Self.present(&app, .rejected) == .shows("UC2.3/2.1"))
        #expect(app.screen?.title == "Biometric not recognized")
        #expect(app.screen?.actions.map(\.title) == ["Try again", "Close"])
        #expect(app.tap(.tryAgain) == .shows("UC2.3/1.2"))
        #expect(Self.present(&app, .rejected) == .shows("UC2.3/3.1"))
        #expect(app.screen?.title == "Biometric not recognized enter your PIN")
        #expect(app.screen?.actions.map(\.title) == ["Enter Password", "Cancel"])
        #expect(app.trace.contains("UC2.3/1.2b") && app.trace.contains("UC2.3/1.2c"))
    }

    @Test("both actions after two rejections on iOS lead to the PIN", arguments: [ActionID.enterPassword, .cancel])
    func pinOnIOS(action: ActionID) {
        var app = Self.atPrompt(.fallback, .iOS)
        _ = Self.present(&app, .rejected)
        app.tap(.tryAgain)
        _ = Self.present(&app, .rejected)
        #expect(app.tap(action) == .shows("UC2.3/1.3"))
    }

    @Test("on Android four rejections can be tried again, the fifth asks for the PIN")
    func rejectedOnAndroid() {
        var app = Self.atPrompt(.fallback)
        for _ in 1...4 {
            #expect(Self.present(&app, .rejected) == .shows("UC2.3/4.1"))
            #expect(app.tap(.tryAgain) == .shows("UC2.3/1.2"))
        }
        #expect(Self.present(&app, .rejected) == .shows("UC2.3/5.1"))
        #expect(app.screen?.title == "Too many failed attempts. Open with PIN")
        #expect(app.tap(.close) == .shows("UC2.3/5.2"))
        #expect(app.screen?.title == "Biometric not recognized, enter your PIN")
        #expect(app.tap(.ok) == .shows("UC2.3/1.3"))
        #expect(app.trace.filter { $0 == "UC2.3/1.2d" }.count == 4)
        #expect(app.trace.contains("UC2.3/1.2e"))
    }

    @Test("Close after a rejection leads to the PIN", arguments: [Platform.iOS, .android])
    func close(platform: Platform) {
        var app = Self.atPrompt(.fallback, platform)
        _ = Self.present(&app, .rejected)
        #expect(app.tap(.close) == .shows("UC2.3/1.3"))
    }

    @Test(
        "in the PIN-fallback mode every other end of the prompt leads to the PIN",
        arguments: [
            (PromptResult.cancelled, "UC2.3/1.2f", "UC2.3/1.3"), (.lockedOut, "UC2.3/1.2g", "UC2.3/5.1"),
            (.unavailable, "UC2.3/1.2", "UC2.3/1.3"),
        ]
    )
    func fallsBack(_ expected: (PromptResult, String, String)) {
        var app = Self.atPrompt(.fallback)
        #expect(Self.present(&app, expected.0) == .shows(StepID(expected.2)))
        #expect(app.trace.contains(expected.1))
    }

    @Test(
        "in safe mode every failed prompt leads to a warning with a reset, never to the PIN",
        arguments: [
            (PromptResult.rejected, [ActionID.tryAgain, .resetWallet]), (.cancelled, [.tryAgain, .resetWallet]),
            (.lockedOut, [.resetWallet]), (.unavailable, [.tryAgain, .resetWallet]),
        ],
        [Platform.iOS, .android]
    )
    func safe(_ expected: (PromptResult, [ActionID]), platform: Platform) {
        var app = Self.atPrompt(.safe, platform)
        #expect(Self.present(&app, expected.0) == .shows("UC2.3/6.1"))
        #expect(app.screen?.title == "Biometric unlock failed")
        #expect(app.screen?.actions.map(\.id) == expected.1)
        #expect(app.tap(.resetWallet) == .shows("UC9.4/1.1"))
        #expect(app.tap(.cancel) == .shows("UC2.3/6.1"))
        app.tap(.resetWallet)
        #expect(app.tap(.yesDelete) == .asks(.wipe))
        app.snapshot.setup = .notStarted
        #expect(app.answer(.wiped(serverTold: true)) == .shows("UC1.1/1.1"))
    }

    @Test(
        "without the keychain item safe mode offers only the reset, the PIN-fallback mode the PIN",
        arguments: [Platform.iOS, .android]
    )
    func itemGone(platform: Platform) {
        var safe = Self.atPrompt(.safe, platform)
        #expect(safe.present(.match) == .asks(.unlockWithBiometrics(.match)))
        #expect(safe.answer(.itemGone) == .shows("UC2.3/6.1"))
        #expect(safe.screen?.actions.map(\.id) == [.resetWallet])
        var fallback = Self.atPrompt(.fallback, platform)
        #expect(fallback.present(.match) == .asks(.unlockWithBiometrics(.match)))
        #expect(fallback.answer(.itemGone) == .shows("UC2.3/1.3"))
    }

    @Test("in safe mode Try again prompts again, until the fifth rejection on Android")
    func safeTryAgain() {
        var app = Self.atPrompt(.safe)
        for _ in 1...4 {
            #expect(Self.present(&app, .rejected) == .shows("UC2.3/6.1"))
            #expect(app.tap(.tryAgain) == .shows("UC2.3/1.2"))
        }
        #expect(Self.present(&app, .rejected) == .shows("UC2.3/6.1"))
        #expect(app.screen?.actions.map(\.id) == [.resetWallet])
    }

    @Test(
        "an error can be tried again; Close leads to the PIN, in safe mode to the reset",
        arguments: [
            (Failure.noInternet, "UC2.3/1.2h"), (.serverUnreachable(notCounted: true), "UC2.3/1.2i"),
            (.generic(correlationID: "c0ffee", cause: .serverInternal), "UC2.3/1.2"),
        ],
        [BiometricMode.fallback, .safe]
    )
    func errors(_ expected: (Failure, String), mode: BiometricMode) {
        var app = Self.atPrompt(mode)
        app.present()
        #expect(app.answer(.failed(expected.0)) == .shows(StepID(expected.1)))
        #expect(app.tap(.retry) == .shows("UC2.3/1.2"))
        app.present()
        app.answer(.failed(expected.0))
        #expect(app.tap(.close) == .shows(mode == .safe ? "UC2.3/6.1" : "UC2.3/1.3"))
        if mode == .safe { #expect(app.screen?.actions.map(\.id) == [.tryAgain, .resetWallet]) }
    }

    @Test("a revocation found by the prompt's session shows its own screen")
    func revoked() {
        var app = Self.atPrompt(.fallback)
        app.present()
        let revocation = Revocation(reason: .wallet, mayRegisterAnew: true)
        #expect(app.answer(.failed(.revoked(revocation))) == .shows("UC1.2/5.1"))
        #expect(app.trace.contains("UC1.2/2.4c"))
    }

    @Test("a version that was blocked while the app was open shows its own screen after the prompt and after a PIN")
    func blockedVersion() {
        let blocked = RememberedUpdate(
            verdict: .block(updateAvailable: true),
            receivedAt: Timestamp(milliseconds: 0),
            appVersion: AppUnderTest.version
        )
        var app = Self.atPrompt(.fallback)
        app.present()
        app.snapshot.lastUpdate = blocked
        #expect(app.answer(.failed(.generic(correlationID: "c0ffee", cause: .replyUnexpected))) == .shows("PF1.4/2.1"))
        app = AppUnderTest(setup: .done)
        app.launchToPIN()
        app.enter("024791")
        app.snapshot.lastUpdate = blocked
        #expect(app.answer(.failed(.generic(correlationID: "c0ffee", cause: .replyUnexpected))) == .shows("PF1.4/2.1"))
    }

    @Test("a permanent block is also shown after the prompt", arguments: [BiometricMode.fallback, .safe])
    func blockedPermanently(mode: BiometricMode) {
        var app = Self.atPrompt(mode)
        app.present()
        #expect(app.answer(.verdict(.blockedPermanently)) == .shows("PF2.8/9.1"))
        #expect(app.trace.contains("PF2.8/1.1c"))
    }

    @Test("after a block found by the prompt safe mode prompts again, and the PIN-fallback mode asks for the PIN")
    func blockedTemporarily() {
        for (mode, next) in [(BiometricMode.fallback, "UC2.3/1.3"), (.safe, "UC2.3/1.2")] {
            var app = Self.atPrompt(mode)
            app.present()
            #expect(app.answer(.verdict(.blocked(remaining: .seconds(60)))) == .shows("PF2.8/5.1"))
            app.wait(60)
            #expect(app.timeDue() == .shows(StepID(next)))
        }
    }

    @Test("the migration to safe mode asks for the PIN once, then prompts", arguments: [true, false])
    func migration(isConfirmed: Bool) {
        var app = Self.atPrompt(.fallback)
        app.snapshot.wantsSafeMode = true
        app.launchToPIN()
        #expect(app.state == .shows("UC2.3/1.3"))
        #expect(app.trace.suffix(2) == ["UC2.3/1.1b", "UC2.3/1.3"])
        #expect(app.screen?.message == "Enter your PIN once to finish securing your app")
        app.unlock()
        #expect(app.state == .shows("UC2.2/1.3"))
        #expect(app.app.scene?.prompt?.purpose == .migrate)
        let presentation = isConfirmed ? Presentation.match : .cancel
        #expect(app.present(presentation) == .asks(.migrateBiometrics(presentation)))
        if isConfirmed { app.snapshot.biometricMode = .safe }
        #expect(app.answer(.prompted(isConfirmed ? .confirmed : .cancelled)) == .shows("UC7.1/1.1"))
        #expect(app.trace.contains(isConfirmed ? "UC2.2/1.3a" : "UC2.2/1.3b"))
        app.snapshot.isLocked = true
        app.launchToPIN()
        #expect(app.state == .shows(isConfirmed ? "UC2.3/1.2" : "UC2.3/1.3"))
    }

    @Test("a failed migration still opens the wallet, unless it is revoked")
    func migrationFails() {
        var app = Self.atPrompt(.fallback)
        app.snapshot.wantsSafeMode = true
        app.launchToPIN()
        app.unlock()
        app.present()
        var other = app
        #expect(app.answer(.failed(.noInternet)) == .shows("UC7.1/1.1"))
        let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        #expect(other.answer(.failed(.revoked(revocation))) == .asks(.lock))
        #expect(other.answer(.locked) == .shows("UC1.2/6.1"))
    }

    @Test("the prompt asks for the method that opens the keychain item", arguments: UnlockMethod.allCases)
    func method(_ method: UnlockMethod) {
        var app = Self.atPrompt(.fallback)
        app.snapshot.unlockMethod = method
        app.launchToPIN()
        #expect(app.app.scene?.prompt == Prompt(.unlock, accepts: method))
    }

    @Test("an unfinished setup continues after the prompt")
    func unfinishedSetup() {
        var app = Self.atPrompt(.fallback)
        app.snapshot.setup = .registered
        app.launchToPIN()
        #expect(Self.present(&app, .confirmed) == .shows("UC2.1/1.5"))
    }
}
