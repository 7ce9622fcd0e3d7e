@testable import WalletFlows
import Testing
import Vocabulary

@Suite("PF2.4 Confirm an action of the host application")
struct ConfirmForHostTests {
    private let payment: ConfirmationRequest

    init() throws {
        self.payment = try ConfirmationRequest(title: "Pay 25.00 EUR", details: "To Example Shop")
    }

    /// At the dashboard of a wallet in this mode whose host allows the prompt.
    static func atDashboard(_ mode: BiometricMode, allowsPrompt: Bool = true) -> AppUnderTest {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.snapshot.biometrics = .face
        app.snapshot.hostAllowsPrompt = allowsPrompt
        app.launchToPIN()
        app.unlock()
        app.snapshot.biometricMode = mode
        app.snapshot.wantsSafeMode = mode == .safe
        return app
    }

    /// From the request to the open prompt of a wallet in the safe mode.
    private func atPrompt() -> AppUnderTest {
        var app = Self.atDashboard(.safe)
        app.confirm(self.payment)
        app.tap(.confirm)
        return app
    }

    private func finish(_ app: inout AppUnderTest) -> AppUnderTest.Reaction? {
        #expect(app.state == .asks(.askStatus))
        #expect(app.answer(.status(.active)) == .asks(.askUpdatePolicy))
        #expect(app.events.isEmpty)
        return app.answer(.updatePolicy(.ok, solutionRevoked: false))
    }

    @Test(
        "the PIN confirms unless the host allows the prompt and the safe mode and its flag are on",
        arguments: [
            (BiometricMode.safe, false, true), (.safe, true, false), (.fallback, true, true), (.off, true, true),
        ]
    )
    func withPIN(mode: BiometricMode, allowsPrompt: Bool, wantsSafeMode: Bool) {
        var app = Self.atDashboard(mode, allowsPrompt: allowsPrompt)
        app.snapshot.wantsSafeMode = wantsSafeMode
        #expect(app.confirm(self.payment) == .shows("PF2.4/1.1"))
        #expect(app.screen?.title == "Pay 25.00 EUR")
        #expect(app.screen?.message == "To Example Shop\nConfirm with your PIN")
        #expect(app.screen?.actions.map(\.id) == [.back, .cancel, .forgotPIN, .help])
        #expect(app.enter("024791") == .asks(.checkPIN(app.entry(0))))
        app.answer(.verdict(.valid))
        #expect(self.finish(&app) == .shows("UC7.1/1.1"))
        #expect(app.events == [.confirmed(self.payment)])
        #expect(
            app.trace.suffix(6) == [
                "PF2.4/1.1a", "PF2.8/1.1a", "PF2.4/1.2a", "PF2.4/1.3", "PF2.4/1.4", "PF1.4/1.1a",
            ]
        )
    }

    @Test("without details the screens show the title only")
    func withoutDetails() throws {
        let confirmation = try ConfirmationRequest(title: "Pay")
        var app = Self.atDashboard(.off)
        app.confirm(confirmation)
        #expect(app.screen?.message == "Confirm with your PIN")
        app = Self.atDashboard(.safe)
        app.confirm(confirmation)
        #expect(app.screen?.title == "Pay" && app.screen?.message.isEmpty == true)
    }

    @Test("a wrong PIN asks again, and Back from a block declines")
    func wrongPIN() {
        var app = Self.atDashboard(.off)
        app.confirm(self.payment)
        app.enter("135790")
        #expect(app.answer(.verdict(.wrong(.open(attemptsLeft: 1, finalRound: false)))) == .shows("PF2.8/4.1"))
        #expect(app.tap(.close) == .shows("PF2.4/1.1"))
        #expect(app.screen?.title == "Pay 25.00 EUR")
        app.enter("135790")
        #expect(app.answer(.verdict(.wrong(.blocked(remaining: .seconds(60))))) == .shows("PF2.8/5.1"))
        #expect(app.events.isEmpty)
        #expect(app.tap(.back) == .shows("UC7.1/1.1"))
        #expect(app.events == [.declined(self.payment)])
    }

    @Test("the wallet's screen comes before the prompt, which confirms without a PIN")
    func withPrompt() {
        var app = Self.atDashboard(.safe)
        #expect(app.confirm(self.payment) == .shows("PF2.4/1.5"))
        #expect(app.screen?.title == "Pay 25.00 EUR")
        #expect(app.screen?.message == "To Example Shop")
        #expect(app.screen?.inputs.isEmpty == true)
        #expect(app.screen?.actions.map(\.id) == [.confirm, .cancel, .help])
        #expect(app.tap(.confirm) == .shows("PF2.4/1.6"))
        #expect(app.app.scene?.prompt == Prompt(.confirm))
        #expect(app.present() == .asks(.confirmWithBiometrics(.match)))
        app.answer(.prompted(.confirmed))
        #expect(self.finish(&app) == .shows("UC7.1/1.1"))
        #expect(app.events == [.confirmed(self.payment)])
    }

    @Test("the prompt accepts the method of the wallet's keychain item", arguments: UnlockMethod.allCases)
    func method(method: UnlockMethod) {
        var app = Self.atDashboard(.safe)
        app.snapshot.unlockMethod = method
        app.confirm(self.payment)
        app.tap(.confirm)
        #expect(app.app.scene?.prompt == Prompt(.confirm, accepts: method))
    }

    @Test("a finger that is not recognized can be tried again")
    func rejected() {
        var app = self.atPrompt()
        app.present(.mismatch)
        #expect(app.answer(.prompted(.rejected)) == .shows("PF2.4/1.5"))
        #expect(app.app.scene?.obstacle == .biometricNotAccepted)
        #expect(app.tap(.confirm) == .shows("PF2.4/1.6"))
        #expect(app.events.isEmpty)
        app.present(.cancel)
        app.answer(.prompted(.cancelled))
        #expect(app.events == [.declined(self.payment)])
    }

    @Test(
        "a prompt that is dismissed or not possible declines, and does not ask for the PIN",
        arguments: [Answer.prompted(.cancelled), .prompted(.lockedOut), .prompted(.unavailable), .itemGone]
    )
    func declined(answer: Answer) {
        var app = self.atPrompt()
        app.present(.cancel)
        #expect(app.answer(answer) == .shows("UC7.1/1.1"))
        #expect(app.events == [.declined(self.payment)])
        #expect(app.trace.last == "PF2.4/1.6c")
    }

    @Test(
        "if the prompt's session has withdrawn the flag, the PIN is required",
        arguments: [BiometricMode.safe, .fallback]
    )
    func flagWithdrawn(mode: BiometricMode) {
        var app = self.atPrompt()
        app.present()
        app.snapshot.wantsSafeMode = false
        app.snapshot.biometricMode = mode
        #expect(app.answer(.prompted(.confirmed)) == .shows("PF2.4/1.1"))
        #expect(app.trace.suffix(2) == ["PF2.4/1.6d", "PF2.4/1.1"])
        #expect(app.events.isEmpty)
        app.enter("024791")
        app.answer(.verdict(.valid))
        _ = self.finish(&app)
        #expect(app.events == [.confirmed(self.payment)])
    }

    @Test(
        "a revoked or permanently blocked wallet declines, and locks itself",
        arguments: [
            Answer.failed(.revoked(Revocation(reason: .wallet, mayRegisterAnew: true))), .verdict(.blockedPermanently),
        ]
    )
    func refused(answer: Answer) {
        var app = self.atPrompt()
        app.present()
        #expect(app.answer(answer) == .asks(.lock))
        #expect(app.events == [.declined(self.payment)])
    }

    @Test("a revocation or a blocked version that is found after the PIN or the prompt declines")
    func refusedAfterwards() {
        let revocation = Revocation(reason: .user, mayRegisterAnew: false)
        var app = self.atPrompt()
        app.present()
        app.answer(.prompted(.confirmed))
        #expect(app.answer(.status(.revoked(revocation))) == .asks(.lock))
        #expect(app.events == [.declined(self.payment)])
        app = Self.atDashboard(.off)
        app.confirm(self.payment)
        app.enter("024791")
        app.answer(.verdict(.valid))
        app.answer(.status(.active))
        #expect(app.answer(.updatePolicy(.block(updateAvailable: true), solutionRevoked: false)) == .shows("PF1.4/2.1"))
        #expect(app.events == [.declined(self.payment)])
    }

    @Test("an unreachable server confirms nothing; Retry prompts again, Close declines")
    func unreachable() {
        var app = self.atPrompt()
        app.present()
        #expect(app.answer(.failed(.serverUnreachable(notCounted: true))) == .shows("PF2.4/1.6"))
        #expect(app.tap(.retry) == .shows("PF2.4/1.6"))
        #expect(app.app.scene?.prompt?.purpose == .confirm)
        app.present()
        app.answer(.failed(.noInternet))
        #expect(app.events.isEmpty)
        #expect(app.tap(.close) == .shows("UC7.1/1.1"))
        #expect(app.events == [.declined(self.payment)])
    }

    @Test("the lock declines, and the next unlock does not ask again", arguments: [BiometricMode.off, .safe])
    func locked(mode: BiometricMode) {
        var app = Self.atDashboard(mode)
        app.confirm(self.payment)
        app.background()
        app.wait(310)
        app.resume()
        app.locked()
        #expect(app.events == [.declined(self.payment)])
        if mode == .safe {
            app.present()
            #expect(app.unlocked(.confirmed) == .shows("UC7.1/1.1"))
        } else {
            app.unlock()
            #expect(app.state == .shows("UC7.1/1.1"))
        }
    }

    @Test("keys that are dropped in the background decline at once")
    func forgotten() {
        var app = Self.atDashboard(.off)
        app.confirm(self.payment)
        app.background()
        app.wait(310)
        #expect(app.forget() == true)
        #expect(app.events == [.declined(self.payment)])
    }

    @Test("a wipe and a new launch decline")
    func wiped() {
        var app = Self.atDashboard(.off)
        app.confirm(self.payment)
        app.tap(.forgotPIN)
        app.tap(.deleteWallet)
        app.tap(.yesDelete)
        #expect(app.events.isEmpty)
        app.snapshot.setup = .notStarted
        app.snapshot.isLocked = true
        app.answer(.wiped(serverTold: true))
        #expect(app.events == [.declined(self.payment)])
        app = Self.atDashboard(.off)
        app.confirm(self.payment)
        app.launch()
        #expect(app.events == [.declined(self.payment)])
    }

    @Test("a request is refused while locked, hidden, at a prompt, during a call, or during another confirmation")
    func notPossible() {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        #expect(app.confirm(self.payment) == nil)
        app = Self.atDashboard(.off)
        app.background()
        #expect(app.confirm(self.payment) == nil)
        app.resume()
        app.wait(245)
        #expect(app.timeDue() == .shows("LOCK/1.4"))
        #expect(app.confirm(self.payment) == nil)
        app.tap(.yesContinue)
        #expect(app.confirm(self.payment) == .shows("PF2.4/1.1"))
        #expect(app.confirm(self.payment) == nil)
        app.enter("024791")
        #expect(app.confirm(self.payment) == nil)
        app.answer(.verdict(.wrong(.open(attemptsLeft: 3, finalRound: false))))
        app.tap(.close)
        app.tap(.cancel)
        #expect(app.events == [.declined(self.payment)])
        #expect(app.confirm(self.payment) == .shows("PF2.4/1.1"))
    }

    @Test("a request does not count as using the app, and an overdue lock comes first")
    func noUse() {
        var app = Self.atDashboard(.off)
        app.wait(200)
        app.confirm(self.payment)
        app.wait(45)
        #expect(app.timeDue() == .shows("LOCK/1.4"))
        app = Self.atDashboard(.off)
        app.wait(310)
        #expect(app.confirm(self.payment) == .asks(.lock))
        #expect(app.events == [.declined(self.payment)])
    }

    @Test("a confirmation on top of another use case returns to it")
    func onTop() {
        var app = Self.atDashboard(.off)
        app.open(.changePIN)
        #expect(app.state == .shows("PF2.4/1.1"))
        #expect(app.screen?.title == "Confirm with PIN")
        app.confirm(self.payment)
        #expect(app.screen?.title == "Pay 25.00 EUR")
        app.tap(.cancel)
        #expect(app.screen?.title == "Confirm with PIN")
        #expect(app.events == [.declined(self.payment)])
        app.enter("024791")
        app.answer(.verdict(.valid))
        #expect(self.pass(&app) == .shows("PF2.9/1.1"))
        #expect(app.events == [.declined(self.payment)])
    }

    private func pass(_ app: inout AppUnderTest) -> AppUnderTest.Reaction? {
        app.answer(.status(.active))
        return app.answer(.updatePolicy(.ok, solutionRevoked: false))
    }
}

@Suite("The texts of a confirmation")
struct ConfirmationTests {
    @Test(
        "control characters, line breaks, controls of the writing direction and invisible characters are escaped",
        arguments: [
            ("a\u{1B}[31mb", #"a\u{1B}[31mb"#), ("a\nb\r\tc", #"a\u{A}b\u{D}\u{9}c"#), ("a\u{0}b", #"a\u{0}b"#),
            ("a\u{9B}b\u{7F}", #"a\u{9B}b\u{7F}"#), ("a\u{2028}b\u{2029}c", #"a\u{2028}b\u{2029}c"#),
            ("a\u{202E}b\u{2066}c\u{200F}", #"a\u{202E}b\u{2066}c\u{200F}"#), ("a\r\nb", #"a\u{D}\u{A}b"#),
            ("Zoë betaalt € 25,00 👍❤️", "Zoë betaalt € 25,00 👍❤️"),
            ("Pay 125\u{200D}0.00 EUR", #"Pay 125\u{200D}0.00 EUR"#),
            ("1\u{AD}2\u{3164}3\u{FEFF}", #"1\u{AD}2\u{3164}3\u{FEFF}"#),
            ("1\u{E000}2\u{34F}3", #"1\u{E000}2\u{34F}3"#),
        ]
    )
    func escaped(text: String, shown: String) throws {
        let confirmation = try ConfirmationRequest(title: text, details: text)
        #expect(confirmation.title == shown)
        #expect(confirmation.details == shown)
        #expect(try ConfirmationRequest(title: shown, details: shown) == confirmation)
    }

    @Test("no scalar of the escaped categories is left")
    func everyScalar() throws {
        for value in UInt32(0)...0x3000 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let title = try ConfirmationRequest(title: "a\(scalar)").title
            let isLeft = title.unicodeScalars.contains { left in
                switch left.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: true
                case _: left.properties.isBidiControl
                }
            }
            #expect(!isLeft, "\(value)")
        }
    }

    @Test("a blank title and texts that are too long after escaping are refused")
    func bounds() throws {
        let (title, details) = (ConfirmationRequest.longestTitle, ConfirmationRequest.longestDetails)
        func text(_ count: Int) -> String { String(repeating: "é", count: count) }
        #expect(throws: Never.self) { try ConfirmationRequest(title: text(title), details: text(details)) }
        #expect(throws: ConfirmationError.titleTooLong) { try ConfirmationRequest(title: text(title + 1)) }
        #expect(throws: ConfirmationError.detailsTooLong) {
            try ConfirmationRequest(title: "a", details: text(details + 1))
        }
        for title in ["", "\u{200B}", "\u{2060}\u{FEFF} ", "\u{3164}", "\u{FE0F}", "\u{2800}", "\n"] {
            #expect(throws: ConfirmationError.titleIsBlank) { try ConfirmationRequest(title: title) }
        }
        #expect(throws: ConfirmationError.titleIsBlank) { try ConfirmationRequest(title: " \u{A0} ") }
        // Each of these has six characters when it is shown.
        #expect(throws: Never.self) { try ConfirmationRequest(title: String(repeating: "\u{1B}", count: title / 6)) }
        #expect(throws: ConfirmationError.titleTooLong) {
            try ConfirmationRequest(title: String(repeating: "\u{1B}", count: title / 6 + 1))
        }
        // One character with many marks.
        #expect(throws: ConfirmationError.titleTooLong) {
            try ConfirmationRequest(title: "a" + String(repeating: "\u{301}", count: title))
        }
    }
}
