import Testing
import Vocabulary

@testable import WalletFlows

@Suite("UC3.1 Obtain PID")
struct ObtainPIDTests {
    static func atOffer() -> AppUnderTest {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        app.unlock()
        return app
    }

    static func code() throws -> RecoveryCode { try #require(RecoveryCode("NL-123".utf8)) }

    /// From the offer to the instruction that links the code.
    static func link(_ app: inout AppUnderTest) throws {
        app.tap(.obtain)
        app.answer(.pid(try Self.code()))
        ChangePINTests.confirm(&app)
    }

    @Test("an obtained identity is confirmed with the PIN, linked, and leads to the dashboard")
    func obtain() throws {
        var app = Self.atOffer()
        #expect(app.tap(.obtain) == .asks(.obtainPID))
        #expect(app.answer(.pid(try Self.code())) == .shows("PF2.4/1.1"))
        #expect(app.screen?.actions.map(\.id) == [.back, .forgotPIN, .help])
        ChangePINTests.confirm(&app)
        let code = try Self.code()
        #expect(app.state == .asks(.linkRecoveryCode(app.entry(0), code)))
        app.snapshot.hasPID = true
        #expect(app.answer(.recoveryCodeLinked) == .shows("UC7.1/1.1"))
        let taken = app.trace.filter { $0.hasPrefix("UC3.1") }
        #expect(taken == ["UC3.1/1.1", "UC3.1/1.1a", "UC3.1/1.2a", "UC3.1/1.3a", "UC3.1/1.4a"])
    }

    @Test("a cancelled issuance, and Back at the PIN, lead back to the offer")
    func cancelled() throws {
        var app = Self.atOffer()
        app.tap(.obtain)
        #expect(app.answer(.pid(nil)) == .shows("UC3.1/1.1"))
        #expect(app.trace.contains("UC3.1/1.2b"))
        app.tap(.obtain)
        app.answer(.pid(try Self.code()))
        #expect(app.tap(.back) == .shows("UC3.1/1.1"))
        #expect(app.trace.contains("UC3.1/1.3b"))
    }

    @Test("a code on the deny list revokes the wallet")
    func denied() throws {
        var app = Self.atOffer()
        try Self.link(&app)
        let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        #expect(app.answer(.failed(.revoked(revocation))) == .asks(.lock))
        #expect(app.answer(.locked) == .shows("UC1.2/6.1"))
        #expect(app.trace.suffix(3) == ["UC3.1/1.4b", "UC1.2/2.4d", "UC1.2/6.1"])
    }

    @Test("a revocation for another reason is not attributed to the code")
    func revokedMeanwhile() throws {
        var app = Self.atOffer()
        try Self.link(&app)
        #expect(app.answer(.failed(.revoked(Revocation(reason: .user, mayRegisterAnew: true)))) == .asks(.lock))
        #expect(app.answer(.locked) == .shows("UC1.2/4.1"))
        #expect(!app.trace.contains("UC3.1/1.4b"))
    }

    @Test("an error of the linking can be tried again with the same entry, and Close leads back")
    func errors() throws {
        var app = Self.atOffer()
        try Self.link(&app)
        #expect(app.answer(.failed(.serverUnreachable(notCounted: false))) == .shows("UC3.1/1.4"))
        let code = try Self.code()
        #expect(app.tap(.retry) == .asks(.linkRecoveryCode(app.entry(0), code)))
        app.answer(.failed(.noInternet))
        #expect(app.tap(.close) == .shows("UC3.1/1.1"))
    }

    @Test("attempts spent by another client meanwhile lead to the PIN again")
    func wrongMeanwhile() throws {
        var app = Self.atOffer()
        try Self.link(&app)
        #expect(app.answer(.verdict(.wrong(.open(attemptsLeft: 2, finalRound: false)))) == .shows("PF2.8/3.1"))
        #expect(app.tap(.close) == .shows("PF2.4/1.1"))
    }

    @Test("the time at the issuer counts as use")
    func longIssuing() throws {
        var app = Self.atOffer()
        app.tap(.obtain)
        app.wait(1000)
        #expect(app.answer(.pid(try Self.code())) == .shows("PF2.4/1.1"))
        #expect(app.timeDue() == nil)
    }
}
