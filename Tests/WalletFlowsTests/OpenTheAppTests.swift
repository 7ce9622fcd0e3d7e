@testable import WalletFlows
import Testing
import Vocabulary

@Suite("UC1.2 Open the app, PF1.4 Apply update policy")
struct OpenTheAppTests {
    @Test("the deletion code is named only if it was used", arguments: [true, false])
    func deletedByUser(withCode: Bool) {
        var app = AppUnderTest(setup: .done)
        app.launch()
        app.timer()
        app.answer(.updatePolicy(.ok, solutionRevoked: false))
        app.answer(.status(.revoked(withCode ? .byDeletionCode : .byWipe)))
        #expect(app.state == .shows("UC1.2/4.1"))
        #expect(
            app.screen?.message
                == (withCode ? "You deleted this wallet with your deletion code" : "You deleted this wallet in the app")
        )
    }

    @Test("a first launch leads through splash screen and update policy to the introduction")
    func firstLaunch() {
        var app = AppUnderTest()
        #expect(app.launch() == .shows("UC1.2/2.1"))
        #expect(app.timer() == .asks(.askUpdatePolicy))
        #expect(app.answer(.updatePolicy(.ok, solutionRevoked: false)) == .shows("UC1.1/1.1"))
        #expect(
            app.trace == [
                "LOCK/1.1", "UC1.2/1.1a", "UC1.2/2.1", "UC1.2/2.1a", "UC1.2/2.2a", "PF1.4/1.1a", "UC1.2/2.3a",
                "UC1.2/2.4a", "UC1.2/2.5b", "UC1.1/1.1",
            ]
        )
    }

    @Test("a wallet that is set up asks for its status, then for the PIN")
    func launchOfRegistered() {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        #expect(app.state == .shows("UC2.3/1.3"))
        #expect(app.screen?.title == "Open app with PIN")
        #expect(app.screen?.actions.map(\.id) == [.info, .forgotPIN])
    }

    @Test("a rooted device stops at an error without Retry")
    func rooted() {
        var app = AppUnderTest(setup: .done)
        app.snapshot.isRooted = true
        app.launch()
        #expect(app.timer() == .shows("UC1.2/2.2b"))
        #expect(app.screen?.title == "Device insecure")
        #expect(app.screen?.actions.map(\.id) == [.close])
        #expect(app.tap(.close) == .leaves(.closed))
        #expect(app.resume() == .shows("UC1.2/2.2b"))
    }

    @Test(
        "each revocation has its own screen, stated now or remembered",
        arguments: [
            (Revocation.Reason.user, "UC1.2/2.4b", "UC1.2/4.1", "Your wallet was deleted"),
            (.wallet, "UC1.2/2.4c", "UC1.2/5.1", "Your wallet is blocked"),
            (.recoveryCode, "UC1.2/2.4d", "UC1.2/6.1", "You have been blocked"),
            (.solution, "UC1.2/2.4e", "UC1.2/7.1", "NL Wallet can no longer be used"),
        ],
        [true, false]
    )
    func revoked(_ expected: (Revocation.Reason, String, String, String), reachable: Bool) {
        let revocation = Revocation(reason: expected.0, mayRegisterAnew: false)
        var app = AppUnderTest(setup: .done)
        app.snapshot.lastRevocation = reachable ? nil : revocation
        app.launch()
        app.timer()
        app.answer(.updatePolicy(.ok, solutionRevoked: false))
        app.answer(reachable ? .status(.revoked(revocation)) : .failed(.serverUnreachable(notCounted: true)))
        #expect(app.state == .shows(StepID(expected.2)))
        #expect(app.trace.contains(expected.1))
        #expect(app.screen?.title == expected.3)
    }

    @Test("a wallet that was never registered is stopped by a revoked solution")
    func solutionRevokedBeforeSetup() {
        var app = AppUnderTest()
        app.snapshot.lastRevocation = Revocation(reason: .solution, mayRegisterAnew: false)
        app.launch()
        app.timer()
        #expect(app.answer(.updatePolicy(.ok, solutionRevoked: true)) == .shows("UC1.2/7.1"))
    }

    @Test("a banner is not lost with a prompt of the operating system: the next screen of the app shows it")
    func bannerAfterPrompt() {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.snapshot.biometricMode = .fallback
        app.launch()
        app.timer()
        app.answer(.updatePolicy(.notify, solutionRevoked: false))
        #expect(app.answer(.status(.active)) == .shows("UC2.3/1.2"))
        #expect(app.screen?.values["banner"] == nil)
        app.present()
        #expect(app.unlocked(.confirmed) == .shows("UC7.1/1.1"))
        #expect(app.screen?.values["banner"] == .text("An update is available."))
        app.tap(.menu)
        #expect(app.screen?.values["banner"] == nil)
    }

    @Test("Create new wipes the old data and leads to the introduction")
    func createNew() {
        var app = AppUnderTest(setup: .done)
        app.launch()
        app.timer()
        app.answer(.updatePolicy(.ok, solutionRevoked: false))
        app.answer(.status(.revoked(Revocation(reason: .wallet, mayRegisterAnew: true))))
        #expect(app.tap(.createNewWallet) == .asks(.wipe))
        app.snapshot.setup = .notStarted
        #expect(app.answer(.wiped(serverTold: true)) == .shows("UC1.1/1.1"))
        #expect(app.trace.suffix(4) == ["UC1.2/5.1c", "UC9.4/1.2", "UC9.4/1.2a", "UC1.1/1.1"])
    }

    @Test(
        "an allowed version continues, with a banner on the next screen",
        arguments: [
            (UpdateVerdict.notify, "PF1.4/1.1b", "An update is available."),
            (.recommend, "PF1.4/1.1c", "An update is available. We recommend that you install it."),
            (
                .warn(blockedIn: .seconds(3600)), "PF1.4/1.1d",
                "Update now. This version will be blocked in 1 hour."
            ),
        ]
    )
    func banners(_ expected: (UpdateVerdict, String, String)) {
        var app = AppUnderTest()
        app.launch()
        app.timer()
        #expect(app.answer(.updatePolicy(expected.0, solutionRevoked: false)) == .shows("UC1.1/1.1"))
        #expect(app.trace.contains(expected.1))
        #expect(app.screen?.values["banner"] == .text(expected.2))
        app.tap(.next)
        #expect(app.screen?.values["banner"] == nil)
    }

    @Test("a blocked version stops at its screen", arguments: [(true, "PF1.4/2.1"), (false, "PF1.4/3.1")])
    func blocked(_ expected: (Bool, String)) {
        var app = AppUnderTest(setup: .done)
        app.launch()
        app.timer()
        let block = UpdateVerdict.block(updateAvailable: expected.0)
        #expect(app.answer(.updatePolicy(block, solutionRevoked: false)) == .shows(StepID(expected.1)))
    }

    @Test("without the server a stored answer serves for a day, and a stored block for longer")
    func storedAnswers() {
        var app = AppUnderTest()
        let day = Duration.seconds(24 * 3600)
        func state(_ verdict: UpdateVerdict, age: Duration) -> AppUnderTest.Reaction? {
            var app = app
            app.snapshot.lastUpdate = RememberedUpdate(
                verdict: verdict,
                receivedAt: Timestamp(milliseconds: app.snapshot.now.milliseconds - age.milliseconds),
                appVersion: AppUnderTest.version
            )
            app.launch()
            app.timer()
            return app.answer(.failed(.noInternet))
        }
        app.snapshot.now = Timestamp(milliseconds: 1_000_000_000)
        #expect(state(.ok, age: day - .seconds(1)) == .shows("UC1.1/1.1"))
        #expect(state(.ok, age: day) == .shows("PF1.4/1.1g"))
        #expect(state(.ok, age: .seconds(-60)) == .shows("PF1.4/1.1g"))
        #expect(state(.block(updateAvailable: true), age: day * 30) == .shows("PF1.4/2.1"))
        #expect(state(.warn(blockedIn: .seconds(60)), age: .seconds(61)) == .shows("PF1.4/2.1"))
    }

    @Test("Retry at an error asks once more; Close leaves the app, and the next resume shows the error again")
    func errors() {
        var app = AppUnderTest()
        app.launch()
        app.timer()
        #expect(app.answer(.failed(.serverUnreachable(notCounted: true))) == .shows("PF1.4/1.1h"))
        #expect(app.screen?.message == "The service cannot be reached right now.")
        #expect(app.tap(.retry) == .asks(.askUpdatePolicy))
        #expect(app.answer(.failed(.noInternet)) == .shows("PF1.4/1.1g"))
        #expect(app.tap(.close) == .leaves(.closed))
        #expect(app.resume() == .shows("PF1.4/1.1g"))
    }

    @Test("a resume without a lock shows the last screen; with one it asks for the PIN first")
    func resume() {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.launchToPIN()
        app.unlock()
        app.tap(.menu)
        #expect(app.resume() == .shows("UC7.1/1.2"))
        app.snapshot.isLocked = true
        #expect(app.resume() == .shows("UC2.3/1.3"))
        #expect(app.resume() == .shows("UC2.3/1.3"))
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.2"))
        #expect(app.trace.contains("UC2.3/1.7a"))
    }

    @Test("no resume leads past a screen in front of the lock")
    func resumeOfBlockedVersion() {
        var app = AppUnderTest(setup: .done)
        app.launch()
        app.timer()
        app.answer(.updatePolicy(.block(updateAvailable: true), solutionRevoked: false))
        #expect(app.tap(.close) == .leaves(.closed))
        #expect(app.resume() == .shows("PF1.4/2.1"))
    }

    @Test("Help shows its placeholder and returns")
    func help() {
        var app = AppUnderTest()
        app.launch()
        app.timer()
        app.answer(.updatePolicy(.ok, solutionRevoked: false))
        #expect(app.tap(.help) == .shows("UC1.1/1.1c"))
        #expect(app.screen?.title == "under construction")
        #expect(app.tap(.close) == .shows("UC1.1/1.1"))
    }

    @Test("an action that the screen does not offer is rejected")
    func notOffered() {
        var app = AppUnderTest()
        app.launch()
        #expect(app.tap(.deleteWallet) == nil)
        #expect(app.enter("024791") == nil)
    }

    @Test("an effect that fails for a version blocked meanwhile leads to the store, in every flow")
    func blockedMeanwhile() throws {
        func effects(_ first: AppUnderTest, _ steps: (inout AppUnderTest) throws -> Void) rethrows -> AppUnderTest {
            var app = first
            try steps(&app)
            return app
        }
        let enrolling = effects(AppUnderTest()) {
            $0.launchToChoosing()
            $0.enter("024791")
            $0.enter("024791")
        }
        let checking = effects(AppUnderTest(setup: .done)) {
            $0.launchToPIN()
            $0.enter("024791")
        }
        let asking = effects(AppUnderTest(setup: .done)) {
            $0.launch()
            $0.timer()
            $0.answer(.updatePolicy(.ok, solutionRevoked: false))
        }
        let resuming = effects(checking) {
            $0.answer(.verdict(.blocked(remaining: .seconds(60))))
            $0.resume()
        }
        let showing = effects(ChangePINTests.atSettings()) {
            $0.tap(.deletionCode)
            $0.enter("024791")
        }
        let changing = effects(ChangePINTests.atSettings()) {
            $0.tap(.changePIN)
            ChangePINTests.confirm(&$0)
            $0.enter("135790")
            $0.enter("135790")
        }
        let linking = try effects(ObtainPIDTests.atOffer()) { try ObtainPIDTests.link(&$0) }
        let enabling = effects(ManageBiometricsTests.atStatus(.off, .face, passcode: false)) {
            $0.tap(.enable)
            $0.present()
            $0.answer(.prompted(.confirmed))
            ChangePINTests.confirm(&$0)
        }
        let disabling = effects(ManageBiometricsTests.atStatus(.fallback, .face, passcode: false)) {
            $0.tap(.disable)
        }
        let confirming = try effects(ConfirmForHostTests.atDashboard(.safe)) {
            $0.confirm(try ConfirmationRequest(title: "Pay"))
            $0.tap(.confirm)
            $0.present()
        }
        let all = [
            enrolling, checking, asking, resuming, showing, changing, linking, enabling, disabling, confirming,
        ]
        for var app in all {
            guard case .asks(let effect)? = app.state else {
                Issue.record("no effect is asked for: \(String(describing: app.state))")
                continue
            }
            app.snapshot.lastUpdate = RememberedUpdate(
                verdict: .block(updateAvailable: true),
                receivedAt: app.snapshot.now,
                appVersion: AppUnderTest.version
            )
            let refused = Answer.failed(.generic(correlationID: "c0ffee", cause: .serverNotAllowed))
            #expect(app.answer(refused) == .shows("PF1.4/2.1"), "\(effect)")
        }
    }
}
