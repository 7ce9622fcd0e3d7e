import Testing
import Vocabulary

@testable import WalletFlows

@Suite("PF2.8 Validate PIN, UC2.3 Unlock the app")
struct ValidatePINTests {
    static func locked() -> AppUnderTest {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        app.enter("111222")
        return app
    }

    @Test(
        "each verdict of four rounds of four has its prompt and its message",
        arguments: [
            (3, false, "PF2.8/1.1d", "PF2.8/2.1", "wrong PIN, try again."),
            (2, false, "PF2.8/1.1e", "PF2.8/3.1", "wrong PIN, you have 2 more attempts."),
            (
                1, false, "PF2.8/1.1f", "PF2.8/4.1",
                "wrong PIN, you have 1 more attempt. Then your app will be blocked temporarily."
            ),
            (
                3, true, "PF2.8/1.1h", "PF2.8/6.1",
                "wrong PIN, you have 3 more attempts. Then your app will be blocked permanently."
            ),
            (
                2, true, "PF2.8/1.1i", "PF2.8/7.1",
                "wrong PIN, you have 2 more attempts. Then your app will be blocked permanently."
            ),
            (
                1, true, "PF2.8/1.1j", "PF2.8/8.1",
                "wrong PIN, you have 1 more attempt. Then your app will be blocked permanently."
            ),
        ]
    )
    func prompts(_ expected: (Int, Bool, String, String, String)) {
        var app = Self.locked()
        let verdict = PINVerdict.wrong(.open(attemptsLeft: expected.0, finalRound: expected.1))
        #expect(app.answer(.verdict(verdict)) == .shows(StepID(expected.3)))
        #expect(app.trace.contains(expected.2))
        #expect(app.screen?.title == "Wrong PIN, retry")
        #expect(app.screen?.message == expected.4)
        #expect(app.screen?.kind == .prompt)
        #expect(app.tap(.close) == .shows("UC2.3/1.3"))
    }

    @Test("without blocks the next round begins at once, so no round but the last is announced", arguments: 1...4)
    func withoutBlocks(attemptsLeft: Int) throws {
        var app = Self.locked()
        app.snapshot.policy = try #require(AttemptPolicy(rounds: 2, attemptsPerRound: 4, blocks: []))
        app.answer(.verdict(.wrong(.open(attemptsLeft: attemptsLeft, finalRound: false))))
        #expect(app.screen?.title == "Wrong PIN, retry" && app.screen?.message == "wrong PIN, try again.")
        app.tap(.close)
        app.enter("111222")
        app.answer(.verdict(.wrong(.open(attemptsLeft: attemptsLeft, finalRound: true))))
        #expect(app.screen?.message.hasSuffix("Then your app will be blocked permanently.") == true)
    }

    @Test(
        "the PIN screens announce the last attempt before a block, and nothing else",
        arguments: [
            (.open(attemptsLeft: 1, finalRound: false), "temporarily"),
            (.open(attemptsLeft: 1, finalRound: true), "permanently"),
            (.open(attemptsLeft: 2, finalRound: true), nil), (.blocked(remaining: .seconds(60)), nil), (nil, nil),
        ] as [(PINState?, String?)]
    )
    func lastAttempt(state: PINState?, blocks: String?) throws {
        func message(_ request: String) -> String {
            blocks.map { "\(request). You have 1 more attempt. Then your app will be blocked \($0)." } ?? request
        }
        var app = AppUnderTest(setup: .done)
        app.snapshot.pinState = state
        app.launchToPIN()
        #expect(app.screen?.message == message("Open with your PIN"))
        #expect((app.value("attemptsLeft") == .number(1)) == (blocks != nil))
        app.snapshot.hasPID = true
        app.unlock()
        app.tap(.menu)
        app.tap(.settings)
        app.tap(.changePIN)
        #expect(app.state == .shows("PF2.4/1.1"))
        #expect(app.screen?.message == message("Confirm with your PIN"))
        app.snapshot.policy = try #require(AttemptPolicy(rounds: 2, attemptsPerRound: 4, blocks: []))
        app.tap(.forgotPIN)
        app.tap(.back)
        let isFinal = state == .open(attemptsLeft: 1, finalRound: true)
        #expect((app.screen?.message != "Confirm with your PIN") == isFinal, "no block follows the other rounds")
    }

    @Test("with two attempts per round the first wrong PIN warns of the block", arguments: [false, true])
    func twoAttempts(finalRound: Bool) throws {
        var app = Self.locked()
        app.snapshot.policy = try #require(AttemptPolicy(rounds: 2, attemptsPerRound: 2, blocks: [.seconds(60)]))
        let state = app.answer(.verdict(.wrong(.open(attemptsLeft: 1, finalRound: finalRound))))
        #expect(state == .shows(finalRound ? "PF2.8/8.1" : "PF2.8/4.1"))
    }

    @Test(
        "with six attempts per round, the attempts in between share a prompt that states their number",
        arguments: [(5, "2"), (4, "3")]
    )
    func sixAttempts(_ expected: (Int, String)) throws {
        var app = Self.locked()
        app.snapshot.policy = try #require(AttemptPolicy(rounds: 2, attemptsPerRound: 6, blocks: [.seconds(60)]))
        let state = app.answer(.verdict(.wrong(.open(attemptsLeft: expected.0, finalRound: false))))
        #expect(state == .shows(StepID("PF2.8/\(expected.1).1")))
    }

    @Test(
        "a countdown is in seconds, minutes, hours or days, rounded up",
        arguments: [
            (60_000, "1 more minute"), (60_001, "2 more minutes"), (59_000, "59 more seconds"),
            (1_000, "1 more second"), (500, "1 more second"), (300_000, "5 more minutes"),
            (3_600_000, "60 more minutes"), (241_000, "5 more minutes"),
            (7_140_001, "2 more hours"), (7_200_001, "3 more hours"), (172_740_001, "2 more days"),
            (172_800_001, "3 more days"), (31 * 86_400_000, "31 more days"),
        ]
    )
    func countdown(_ expected: (Int64, String)) {
        var app = Self.locked()
        #expect(app.answer(.verdict(.wrong(.blocked(remaining: .milliseconds(expected.0))))) == .shows("PF2.8/5.1"))
        #expect(app.trace.contains("PF2.8/1.1g"))
        #expect(app.screen?.message == "app is blocked for \(expected.1).")
        #expect(app.screen?.values["remainingMs"] == .number(expected.0))
    }

    @Test("a block that is longer than any policy allows ends after the longest one", arguments: [32, 1 << 40])
    func longBlock(days: Int64) {
        for verdict in [
            PINVerdict.blocked(remaining: .seconds(days * 86_400)),
            .wrong(.blocked(remaining: .seconds(days * 86_400))),
        ] {
            var app = Self.locked()
            app.answer(.verdict(verdict))
            #expect(app.screen?.values["remainingMs"] == .number(31 * 86_400_000))
        }
    }

    @Test("a block counts down and ends in a new entry")
    func blockEnds() {
        var app = Self.locked()
        app.answer(.verdict(.blocked(remaining: .seconds(60))))
        #expect(app.trace.contains("PF2.8/1.1b"))
        app.wait(45)
        #expect(app.screen?.message == "app is blocked for 15 more seconds.")
        #expect(app.timer() == .shows("UC2.3/1.3"))
        #expect(app.trace.suffix(3) == ["PF2.8/5.1e", "UC2.3/1.4b", "UC2.3/1.3"])
    }

    @Test("Back from a block leaves the app, and the next resume shows the block with its time")
    func backFromBlock() {
        var app = Self.locked()
        app.answer(.verdict(.blocked(remaining: .seconds(60))))
        #expect(app.tap(.back) == .leaves(.suspended))
        app.wait(10)
        #expect(app.resume() == .asks(.askPINState))
        #expect(app.answer(.pinState(.blocked(remaining: .seconds(49)))) == .shows("PF2.8/5.1"))
        #expect(app.screen?.message == "app is blocked for 49 more seconds.")
        #expect(app.trace.suffix(4) == ["UC1.2/3.1a", "UC1.2/3.2b", "PF2.8/1.1b", "PF2.8/5.1"])
    }

    @Test("after a resume the server decides whether the block goes on")
    func resumeAfterBlock() throws {
        func resumed(_ answer: Answer) -> AppUnderTest {
            var app = Self.locked()
            app.answer(.verdict(.blocked(remaining: .seconds(60))))
            app.background()
            app.wait(20)
            #expect(app.resume() == .asks(.askPINState))
            app.answer(answer)
            return app
        }
        #expect(resumed(.pinState(.open(attemptsLeft: 4, finalRound: false))).state == .shows("UC2.3/1.3"))
        #expect(resumed(.pinState(.blockedPermanently)).state == .shows("PF2.8/9.1"))
        let offline = resumed(.failed(.noInternet))
        #expect(offline.state == .shows("PF2.8/5.1"))
        #expect(offline.screen?.message == "app is blocked for 40 more seconds.")
        let revocation = Revocation(reason: .user, mayRegisterAnew: true)
        #expect(resumed(.failed(.revoked(revocation))).state == .shows("UC1.2/4.1"))
    }

    @Test(
        "a phone's clock that is set changes neither what a block shows nor when it ends",
        arguments: [-86_400, 86_400]
    )
    func clockSetDuringBlock(_ seconds: Int64) {
        var app = Self.locked()
        app.answer(.verdict(.blocked(remaining: .seconds(60))))
        app.setClock(forward: seconds)
        #expect(app.timeDue() == nil)
        #expect(app.value("remainingMs") == .number(60_000))
        app.wait(59)
        #expect(app.timeDue() == nil)
        #expect(app.screen?.message == "app is blocked for 1 more second.")
        app.wait(1)
        #expect(app.timeDue() == .shows("UC2.3/1.3"))
    }

    @Test("a permanent block offers only deleting", arguments: [(true, "PF2.8/1.1k"), (false, "PF2.8/1.1c")])
    func permanent(_ expected: (Bool, String)) {
        var app = Self.locked()
        app.answer(.verdict(expected.0 ? .wrong(.blockedPermanently) : .blockedPermanently))
        #expect(app.state == .shows("PF2.8/9.1"))
        #expect(app.trace.contains(expected.1))
        #expect(app.screen?.actions.map(\.id) == [.deleteWallet, .help])
        #expect(app.tap(.deleteWallet) == .shows("UC9.4/1.1"))
        #expect(app.tap(.cancel) == .shows("PF2.8/9.1"))
        app.tap(.deleteWallet)
        #expect(app.tap(.yesDelete) == .asks(.wipe))
        #expect(app.answer(.wiped(serverTold: false)) == .shows("UC1.1/1.1"))
        #expect(app.trace.contains("UC9.4/1.2b"))
    }

    @Test("an open app that is blocked permanently locks, keeps no PIN, and passes no link to the host")
    func permanentWhileOpen() {
        var app = ChangePINTests.atSettings()
        app.tap(.changePIN)
        ChangePINTests.confirm(&app)
        weak var old: PINEntry?
        app.enter("135790")
        app.enter("135790")
        if case .some(.ask(.changePIN(let entry, _))) = app.last { old = entry }
        #expect(old != nil)
        #expect(app.answer(.verdict(.wrong(.blockedPermanently))) == .asks(.lock))
        #expect(app.locked() == .shows("PF2.8/9.1"))
        #expect(old == nil)
        #expect(app.open(LinkTests.link) == .shows("PF2.8/9.1"))
        app.background()
        app.wait(400)
        #expect(app.resume() == .shows("PF2.8/9.1"))
        #expect(app.events.isEmpty)
        app.tap(.deleteWallet)
        #expect(app.tap(.cancel) == .shows("PF2.8/9.1"))
    }

    @Test("trying again after a lost reply is the same attempt; a new entry is another")
    func sameAttempt() throws {
        var app = Self.locked()
        guard case .some(.ask(.checkPIN(let first))) = app.last else { return }
        #expect(app.answer(.failed(.serverUnreachable(notCounted: false))) == .shows("PF2.8/1.1m"))
        #expect(app.tap(.retry) == .asks(.checkPIN(app.entry(0))))
        guard case .some(.ask(.checkPIN(let second))) = app.last else { return }
        #expect(first.attemptID == second.attemptID)
        app.answer(.failed(.noInternet))
        #expect(app.tap(.close) == .shows("UC2.3/1.3"))
        app.enter("111222")
        guard case .some(.ask(.checkPIN(let third))) = app.last else { return }
        #expect(first.attemptID != third.attemptID)
    }

    @Test("an error says that no attempt was counted, if that is known", arguments: [true, false])
    func notCounted(isKnown: Bool) {
        var app = Self.locked()
        app.answer(.failed(.serverUnreachable(notCounted: isKnown)))
        #expect(app.screen?.message.hasSuffix("No attempt was counted against you.") == isKnown)
    }

    @Test("fewer than six digits are never sent")
    func malformed() {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        #expect(app.enter("11122") == .shows("UC2.3/1.3"))
    }

    @Test("Forgot PIN offers deleting, and Back returns to the PIN")
    func forgot() {
        var app = AppUnderTest(setup: .done)
        app.launchToPIN()
        #expect(app.tap(.forgotPIN) == .shows("PF2.8/10.1"))
        #expect(app.tap(.back) == .shows("UC2.3/1.3"))
        app.enter("111222")
        app.answer(.verdict(.wrong(.open(attemptsLeft: 3, finalRound: false))))
        #expect(app.tap(.forgotPIN) == .shows("PF2.8/10.1"))
        #expect(app.tap(.back) == .shows("UC2.3/1.3"))
    }

    @Test("a revocation found while unlocking shows its own screen")
    func revoked() {
        var app = Self.locked()
        #expect(app.answer(.failed(.revoked(Revocation(reason: .user, mayRegisterAnew: true)))) == .shows("UC1.2/4.1"))
    }
}
