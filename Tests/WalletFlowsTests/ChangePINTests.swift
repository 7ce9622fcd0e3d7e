import Testing
import Vocabulary

@testable import WalletFlows

@Suite("UC2.6 Change PIN, PF2.4 Confirm a protected action, UC9.12, UC7.1")
struct ChangePINTests {
    static func atSettings() -> AppUnderTest {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.launchToPIN()
        app.unlock()
        app.tap(.menu)
        app.tap(.settings)
        return app
    }

    /// Passes PF2.4: the right PIN, active, allowed.
    static func confirm(_ app: inout AppUnderTest) {
        app.enter("024791")
        app.answer(.verdict(.valid))
        app.answer(.status(.active))
        app.answer(.updatePolicy(.ok, solutionRevoked: false))
    }

    @Test("the old PIN is confirmed, the new one chosen twice, and one instruction carries both")
    func change() {
        var app = Self.atSettings()
        #expect(app.tap(.changePIN) == .shows("PF2.4/1.1"))
        Self.confirm(&app)
        #expect(app.state == .shows("PF2.9/1.1"))
        app.enter("135790")
        #expect(app.enter("135790") == .asks(.changePIN(old: app.entry(2), new: app.entry(1))))
        guard case .some(.ask(.changePIN(let old, let new))) = app.last else { return }
        #expect(!old.isEqual(to: new))
        #expect(app.answer(.pinChanged) == .shows("UC2.6/1.3"))
        #expect(app.screen?.title == "PIN change success")
        #expect(app.tap(.settings) == .shows("UC7.1/1.3"))
    }

    @Test("the settings offer the deletion code only if the server gives one", arguments: [true, false])
    func deletionCodeOff(isOffered: Bool) {
        var app = Self.atSettings()
        app.snapshot.offersDeletionCode = isOffered
        app.tap(.back)
        app.tap(.settings)
        #expect(app.screen?.actions.contains { $0.id == .deletionCode } == isOffered)
    }

    @Test("Back during a change asks for confirmation, and stopping returns to the settings")
    func stop() {
        var app = Self.atSettings()
        app.tap(.changePIN)
        Self.confirm(&app)
        #expect(app.tap(.back) == .shows("PF2.9/5.1"))
        #expect(app.tap(.no) == .shows("PF2.9/1.1"))
        app.tap(.back)
        #expect(app.tap(.yesStop) == .shows("PF2.9/5.2"))
        #expect(app.tap(.ok) == .shows("UC7.1/1.3"))
    }

    @Test("Back and Cancel at the old PIN return to the settings", arguments: [ActionID.back, .cancel])
    func cancel(action: ActionID) {
        var app = Self.atSettings()
        app.tap(.changePIN)
        #expect(app.tap(action) == .shows("UC7.1/1.3"))
    }

    @Test("a change with a lost answer says that either PIN may be right; one that was not sent does not")
    func lostAnswer() {
        var app = Self.atSettings()
        app.tap(.changePIN)
        Self.confirm(&app)
        app.enter("135790")
        app.enter("135790")
        #expect(app.answer(.failed(.serverUnreachable(notCounted: false))) == .shows("PF2.9/1.5d"))
        #expect(app.screen?.message.hasSuffix("Your PIN may be the old one or the new one.") == true)
        app.tap(.retry)
        #expect(app.answer(.failed(.serverUnreachable(notCounted: true))) == .shows("PF2.9/1.5d"))
        #expect(app.screen?.message == "The service cannot be reached right now.")
    }

    @Test("a block caused by another client during a change is shown, and the change stops")
    func blockedMeanwhile() {
        var app = Self.atSettings()
        app.tap(.changePIN)
        Self.confirm(&app)
        app.enter("135790")
        app.enter("135790")
        #expect(app.answer(.verdict(.blocked(remaining: .seconds(60)))) == .shows("PF2.8/5.1"))
        #expect(app.tap(.back) == .shows("UC7.1/1.3"))
    }

    @Test("a revocation between PIN and action stops the action")
    func revokedMeanwhile() {
        var app = Self.atSettings()
        app.tap(.changePIN)
        app.enter("024791")
        app.answer(.verdict(.valid))
        #expect(
            app.answer(.status(.revoked(Revocation(reason: .wallet, mayRegisterAnew: true)))) == .asks(.lock)
        )
        #expect(app.answer(.locked) == .shows("UC1.2/5.1"))
    }

    @Test("the deletion code is shown again only after the PIN")
    func deletionCode() throws {
        var app = Self.atSettings()
        app.tap(.deletionCode)
        Self.confirm(&app)
        #expect(app.state == .asks(.showDeletionCode(app.entry(0))))
        #expect(app.answer(.deletionCode(try #require(DeletionCode("0123456789ABCDEFGH")))) == .shows("UC9.12/1.2"))
        #expect(app.tap(.back) == .shows("UC7.1/1.3"))
    }

    @Test("Log out locks first, then asks for the PIN")
    func logOut() {
        var app = Self.atSettings()
        app.tap(.back)
        #expect(app.tap(.logOut) == .asks(.lock))
        app.snapshot.isLocked = true
        #expect(app.answer(.locked) == .shows("UC2.3/1.3"))
        #expect(app.trace.contains("LOCK/1.2"))
    }
}
