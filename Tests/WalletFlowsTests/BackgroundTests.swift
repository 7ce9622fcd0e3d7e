@testable import WalletFlows
import Testing
import Vocabulary

@Suite("LOCK: an app in the background drops keys and confirmations before the user returns")
struct BackgroundTests {
    @Test("in the background the keys are erased after the timeout, and the return locks as usual")
    func forgotten() {
        var app = AppUnderTest.atDashboard()
        app.tap(.menu)
        app.background()
        app.wait(299)
        #expect(app.forget() == false)
        app.wait(1)
        #expect(app.forget() == true)
        #expect(app.forget() == false, "once")
        #expect(app.timeDue() == nil)
        #expect(app.screen?.step == "UC7.1/1.2")
        #expect(app.resume() == .asks(.lock))
        #expect(app.locked() == .shows("UC2.3/1.3"))
        #expect(
            app.trace.suffix(6) == [
                "LOCK/1.3", "UC1.2/1.1b", "UC1.2/3.1a", "UC1.2/3.2b", "UC2.3/1.1b", "UC2.3/1.3",
            ]
        )
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.2"))
        #expect(app.resume() == .shows("UC7.1/1.2"), "the lock happens once")
    }

    @Test("a tap on a screen whose keys were erased is dropped: the lock comes first")
    func tapOnForgotten() {
        var app = AppUnderTest.atDashboard()
        app.tap(.menu)
        app.background()
        app.wait(300)
        app.forget()
        #expect(app.tap(.settings) == .asks(.lock))
        #expect(app.locked() == .shows("UC2.3/1.3"))
    }

    @Test("confirmations and a shown deletion code are dropped with the keys")
    func confirmationsForgotten() throws {
        var app = ChangePINTests.atSettings()
        app.tap(.deletionCode)
        ChangePINTests.confirm(&app)
        app.answer(.deletionCode(try #require(DeletionCode("0123456789ABCDEFGH"))))
        app.background()
        app.wait(300)
        app.forget()
        #expect(app.screen?.step == "UC7.1/1.3")
        app.resume()
        app.locked()
        app.unlock()
        #expect(app.state == .shows("PF2.4/1.1"))
    }

    @Test("the only screen stays, so that the return is not a launch")
    func onlyScreen() {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.launchToPIN(opening: IncomingLink(LinkTests.link.url, from: .externalScanner))
        app.unlock()
        app.background()
        app.wait(300)
        #expect(app.forget() == true)
        #expect(app.resume() == .asks(.lock))
        #expect(app.locked() == .shows("UC2.3/1.3"))
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.1"))
    }

    @Test("a PIN kept for another try is also erased in the background, and is requested again")
    func keptPIN() {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        weak var kept: PINEntry?
        app.enter("024791")
        if case .some(.ask(.checkPIN(let entry))) = app.last { kept = entry }
        app.answer(.failed(.serverUnreachable(notCounted: false)))
        app.tap(.help)
        #expect(kept != nil)
        app.background()
        app.wait(300)
        #expect(app.forget() == true)
        #expect(kept == nil)
        #expect(app.screen?.step == "UC2.3/1.3")
        #expect(app.forget() == false)
        #expect(app.resume() == .shows("UC2.3/1.3"))
        app.unlock()
        #expect(app.state == .shows("UC3.1/1.1"))
    }

    @Test("a PIN kept for another try is also erased in sight if nobody uses the app", arguments: [true, false])
    func keptInSight(isNoticedByTime: Bool) {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        weak var kept: PINEntry?
        app.enter("024791")
        if case .some(.ask(.checkPIN(let entry))) = app.last { kept = entry }
        app.answer(.failed(.serverUnreachable(notCounted: false)))
        app.wait(299)
        #expect(app.timeDue() == nil && kept != nil)
        app.wait(1)
        if isNoticedByTime {
            #expect(app.timeDue() == .shows("UC2.3/1.3"))
        } else {
            #expect(app.tap(.retry) == .shows("UC2.3/1.3"), "the tap is dropped")
        }
        #expect(kept == nil)
        app.unlock()
        #expect(app.state == .shows("UC3.1/1.1"))
    }

    @Test("a PIN kept by a flow that ends with the lock is erased with the keys, even if no flow is left")
    func keptPINOverARoot() throws {
        var app = ObtainPIDTests.atOffer()
        app.snapshot.biometricMode = .fallback
        app.tap(.obtain)
        app.answer(.pid(try ObtainPIDTests.code()))
        weak var kept: PINEntry?
        app.enter("024791")
        if case .some(.ask(.checkPIN(let entry))) = app.last { kept = entry }
        app.answer(.failed(.serverUnreachable(notCounted: false)))
        #expect(kept != nil)
        app.background()
        app.wait(300)
        let count = app.trace.count
        #expect(app.forget() == true)
        #expect(kept == nil)
        #expect(app.forget() == false)
        #expect(app.timeDue() == nil)
        #expect(app.trace.count == count, "the app asks for no effect in the background")
        #expect(app.resume() == .asks(.lock))
        #expect(app.locked() == .shows("UC2.3/1.2"))
        #expect(app.trace.filter { $0 == "LOCK/1.3" }.count == 1)
    }

    @Test("a deletion needs no PIN, also after the keys were erased in the background")
    func wipe() {
        var app = AppUnderTest.atDashboard()
        app.background()
        app.wait(300)
        app.forget()
        app.snapshot.isLocked = true
        #expect(app.open(.wipe) == .shows("UC9.4/1.1"))
        #expect(app.tap(.cancel) == .shows("UC2.3/1.3"))
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.1"))
    }
}
