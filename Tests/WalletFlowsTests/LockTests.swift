@testable import WalletFlows
import Testing
import Vocabulary

@Suite("LOCK: the timeouts of an unlocked app")
struct LockTests {
    @Test(
        "the app locks once its background timeout has passed, not before (LTC55)",
        arguments: [(299, false), (300, true)]
    )
    func background(_ expected: (Int64, Bool)) {
        var app = AppUnderTest.atDashboard()
        app.tap(.menu)
        app.background()
        app.wait(expected.0)
        #expect(app.timeDue() == nil)
        #expect(app.resume() == (expected.1 ? .asks(.lock) : .shows("UC7.1/1.2")))
        guard expected.1 else { return }
        #expect(app.locked() == .shows("UC2.3/1.3"))
        #expect(
            app.trace.suffix(6) == [
                "LOCK/1.3", "UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2b", "UC2.3/1.1b", "UC2.3/1.3",
            ]
        )
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.2"))
        #expect(app.trace.last == "UC2.3/1.7a")
    }

    @Test("an answer given outside the app does not end its time in the background")
    func answeredInBackground() {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        app.unlock()
        #expect(app.tap(.obtain) == .asks(.obtainPID))
        app.background()
        app.wait(60)
        app.answer(.pid(nil))
        app.wait(240)
        #expect(app.timeDue() == nil)
        #expect(app.resume() == .asks(.lock))
        #expect(app.locked() == .shows("UC2.3/1.3"))
    }

    @Test("a clock that is set back in the background does not keep the app open")
    func clockSetBack() {
        var app = AppUnderTest.atDashboard()
        app.background()
        app.setClock(forward: -86_400)
        app.wait(299)
        #expect(app.resume() != .asks(.lock))
        app.background()
        app.setClock(forward: -86_400)
        app.wait(300)
        #expect(app.resume() == .asks(.lock))
    }

    @Test("inactivity leads to a warning, then to the lock (LTC54)")
    func inactivity() {
        var app = AppUnderTest.atDashboard()
        app.wait(239)
        #expect(app.timeDue() == nil)
        app.wait(1)
        #expect(app.timeDue() == .shows("LOCK/1.4"))
        #expect(app.screen?.kind == .prompt)
        #expect(app.screen?.actions.map(\.title) == ["Yes continue", "Log out"])
        #expect(app.value("remainingMs") == .number(60_000))
        app.wait(59)
        #expect(app.timeDue() == nil)
        #expect(app.screen?.message == "Are you still there? The app locks itself in 1 second.")
        app.wait(1)
        #expect(app.timeDue() == .asks(.lock))
        #expect(app.locked() == .shows("UC2.3/1.3"))
        #expect(app.trace.suffix(3) == ["LOCK/1.5", "UC2.3/1.1b", "UC2.3/1.3"])
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.1"))
    }

    @Test("a clock that is set back while the app is in sight delays neither the warning nor the lock")
    func clockSetBackInSight() {
        var app = AppUnderTest.atDashboard()
        app.wait(100)
        #expect(app.timeDue() == nil)
        app.setClock(forward: -90)
        #expect(app.timeDue() == nil)
        app.wait(139)
        #expect(app.timeDue() == nil)
        app.wait(1)
        #expect(app.timeDue() == .shows("LOCK/1.4"))
        app.setClock(forward: -1000)
        #expect(app.timeDue() == nil)
        app.wait(59)
        #expect(app.timeDue() == nil)
        app.wait(1)
        #expect(app.timeDue() == .asks(.lock))
    }

    @Test("Yes continue restarts the inactivity timeout (LTC57)")
    func yesContinue() {
        var app = AppUnderTest.atDashboard()
        app.tap(.menu)
        app.wait(250)
        app.timeDue()
        #expect(app.tap(.yesContinue) == .shows("UC7.1/1.2"))
        #expect(app.trace.last == "LOCK/1.4a")
        app.wait(239)
        #expect(app.timeDue() == nil)
        app.wait(1)
        #expect(app.timeDue() == .shows("LOCK/1.4"))
    }

    @Test("Log out at the warning locks, and the next unlock leads to the dashboard (LTC56)")
    func logOutAtWarning() {
        var app = AppUnderTest.atDashboard()
        app.tap(.menu)
        app.wait(240)
        app.timeDue()
        #expect(app.tap(.logOut) == .asks(.lock))
        #expect(app.locked() == .shows("UC2.3/1.3"))
        #expect(app.trace.suffix(4) == ["LOCK/1.4b", "LOCK/1.2", "UC2.3/1.1b", "UC2.3/1.3"])
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.1"))
    }

    @Test("every action restarts the inactivity timeout")
    func use() {
        var app = AppUnderTest.atDashboard()
        for action in [ActionID.menu, .settings, .back, .back] {
            app.wait(239)
            #expect(app.timeDue() == nil)
            app.tap(action)
        }
    }

    @Test("a tap after the timeout is dropped: the lock comes first")
    func tapTooLate() {
        var app = AppUnderTest.atDashboard()
        app.tap(.menu)
        app.wait(300)
        #expect(app.tap(.settings) == .asks(.lock))
        #expect(!app.trace.contains("UC7.1/1.3"))
    }

    @Test("a resume shows the warning again, unless its lock was due meanwhile")
    func warningInBackground() {
        var app = AppUnderTest.atDashboard()
        app.wait(240)
        app.timeDue()
        app.background()
        app.wait(30)
        #expect(app.resume() == .shows("LOCK/1.4"))
        #expect(app.value("remainingMs") == .number(30_000))
        app.background()
        app.wait(30)
        #expect(app.resume() == .asks(.lock))
        app.locked()
        #expect(app.trace.contains("LOCK/1.5"))
    }

    @Test("neither a locked app nor one without a setup shows the warning")
    func lockedIsNotWarned() {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        app.wait(1000)
        #expect(app.timeDue() == nil)
        app = AppUnderTest()
        app.launchToChoosing()
        app.wait(1000)
        #expect(app.timeDue() == nil)
    }

    @Test("the timeouts come from the settings")
    func times() {
        var app = AppUnderTest.atDashboard()
        app.snapshot.lockTimes.warning = .seconds(5)
        app.snapshot.lockTimes.inactivity = .seconds(8)
        app.wait(5)
        #expect(app.timeDue() == .shows("LOCK/1.4"))
        app.wait(3)
        #expect(app.timeDue() == .asks(.lock))
    }

    @Test("a confirmed PIN does not outlive the lock: the change asks for it again")
    func changeEndsWithLock() {
        var app = ChangePINTests.atSettings()
        app.tap(.changePIN)
        ChangePINTests.confirm(&app)
        app.enter("135790")
        #expect(app.state == .shows("PF2.9/1.3"))
        app.background()
        app.wait(300)
        app.resume()
        app.locked()
        app.unlock()
        #expect(app.state == .shows("PF2.4/1.1"))
        #expect(app.trace.suffix(2) == ["UC2.3/1.7a", "PF2.4/1.1"])
        ChangePINTests.confirm(&app)
        #expect(app.state == .shows("PF2.9/1.1"))
    }

    @Test("a deletion code on the screen is gone after the lock")
    func codeEndsWithLock() throws {
        var app = ChangePINTests.atSettings()
        app.tap(.deletionCode)
        ChangePINTests.confirm(&app)
        app.answer(.deletionCode(try #require(DeletionCode("0123456789ABCDEFGH"))))
        app.wait(300)
        #expect(app.timeDue() == .asks(.lock))
        app.locked()
        app.unlock()
        #expect(app.state == .shows("PF2.4/1.1"))
        #expect(app.tap(.back) == .shows("UC7.1/1.3"))
    }

    @Test("a lock at a wrong PIN inside a protected action returns to its PIN screen")
    func wrongPINEndsWithLock() {
        var app = ChangePINTests.atSettings()
        app.tap(.deletionCode)
        app.enter("111222")
        app.answer(.verdict(.wrong(.open(attemptsLeft: 3, finalRound: false))))
        app.wait(300)
        app.timeDue()
        app.locked()
        app.unlock()
        #expect(app.state == .shows("PF2.4/1.1"))
        #expect(app.tap(.back) == .shows("UC7.1/1.3"))
    }

    @Test("a finished PIN change and the biometric settings stay where they were")
    func screensAfterLock() {
        var app = ChangePINTests.atSettings()
        app.tap(.changePIN)
        ChangePINTests.confirm(&app)
        app.enter("135790")
        app.enter("135790")
        app.answer(.pinChanged)
        app.wait(300)
        app.timeDue()
        app.locked()
        app.unlock()
        #expect(app.state == .shows("UC2.6/1.3"))
        app.tap(.settings)
        app.snapshot.biometrics = .face
        app.tap(.biometrics)
        #expect(app.tap(.enable) == .shows("UC2.2/1.3"))
        app.wait(300)
        app.timeDue()
        app.locked()
        app.unlock()
        #expect(app.state == .shows("UC2.2/1.1"))
    }

    @Test("a lock at a screen right after the unlocking returns to the dashboard")
    func lockAtLink() {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.launchToPIN(opening: IncomingLink(LinkTests.link.url, from: .externalScanner))
        app.unlock()
        #expect(app.state == .shows("PF2.7/2.1"))
        app.wait(300)
        #expect(app.timeDue() == .asks(.lock))
        app.locked()
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.1"))
    }

    @Test("a locked setup continues at its step")
    func setup() {
        var app = ManageBiometricsTests.atConfiguring(.face)
        app.wait(240)
        #expect(app.timeDue() == .shows("LOCK/1.4"))
        app.wait(60)
        app.timeDue()
        #expect(app.locked() == .shows("UC2.3/1.3"))
        app.unlock()
        #expect(app.state == .shows("UC2.1/1.3"))
    }

    @Test("an open app locks when it learns of its revocation, and the screen stays")
    func revoked() {
        var app = ChangePINTests.atSettings()
        app.tap(.changePIN)
        app.enter("024791")
        app.answer(.verdict(.valid))
        #expect(app.answer(.status(.revoked(Revocation(reason: .user, mayRegisterAnew: true)))) == .asks(.lock))
        #expect(app.locked() == .shows("UC1.2/4.1"))
        app.wait(300)
        #expect(app.timeDue() == nil)
        app.background()
        app.wait(1000)
        #expect(app.resume() == .shows("UC1.2/4.1"))
    }

    @Test("a version that is blocked while the app is open stays blocked, locked or not")
    func blockedVersion() {
        var app = ChangePINTests.atSettings()
        app.tap(.deletionCode)
        app.enter("024791")
        app.answer(.verdict(.valid))
        app.answer(.status(.active))
        #expect(app.answer(.updatePolicy(.block(updateAvailable: true), solutionRevoked: false)) == .shows("PF1.4/2.1"))
        app.background()
        app.wait(300)
        #expect(app.resume() == .asks(.lock))
        #expect(app.locked() == .shows("PF1.4/2.1"))
    }

    @Test("an app whose keys were dropped by its host shows the PIN screen")
    func lockedByHost() {
        var app = ChangePINTests.atSettings()
        app.snapshot.isLocked = true
        #expect(app.tap(.back) == .shows("UC2.3/1.3"))
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.2"))
    }

    @Test("a block that ended in the background is over at the resume")
    func blockEndsInBackground() {
        var app = ValidatePINTests.locked()
        app.answer(.verdict(.wrong(.blocked(remaining: .seconds(60)))))
        app.background()
        app.wait(60)
        #expect(app.resume() == .shows("UC2.3/1.3"))
        #expect(app.trace.contains("PF2.8/5.1e"))
    }

    @Test("timeDue ends the splash screen")
    func timers() {
        var app = AppUnderTest(setup: .done)
        app.launch()
        #expect(app.timeDue() == nil)
        app.wait(1)
        #expect(app.timeDue() == .asks(.askUpdatePolicy))
    }

    @Test("an entry after the background timeout is dropped")
    func enterTooLate() {
        var app = ChangePINTests.atSettings()
        app.tap(.deletionCode)
        app.background()
        app.wait(301)
        #expect(app.enter("024791") == .asks(.lock))
    }
}
