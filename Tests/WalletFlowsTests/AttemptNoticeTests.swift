import Testing
import Vocabulary

@testable import WalletFlows

@Suite("Facts about attempts")
struct AttemptNoticeTests {
    private let since = Timestamp(milliseconds: 1_700_000_000_000)

    private func app(_ notice: AttemptNotice) -> AppUnderTest {
        var app = AppUnderTest(setup: .done)
        app.snapshot.hasPID = true
        app.snapshot.attemptNotice = notice
        return app
    }

    @Test("they are shown on the first screen after an unlock, and on no screen of a locked wallet")
    func afterUnlock() {
        var app = self.app(AttemptNotice(wrongPINs: 2, since: nil, tampering: [.unexplainedAttempts]))
        app.launchToPIN()
        #expect(app.state == .shows("UC2.3/1.3"))
        #expect(app.value("notice") == nil)
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.1"))
        #expect(app.value("notice") == .text("2 wrong PINs. PINs were tried that this app did not send. Contact us."))
        #expect(app.value("wrongPINs") == .number(2) && app.value("tampering") == .text("unexplained-attempts"))
        // The host forgets them once they are shown.
        app.snapshot.attemptNotice = nil
        app.tap(.menu)
        #expect(app.value("notice") == nil)
    }

    @Test("an unlock that returns to a screen shows them there")
    func resumed() {
        var app = AppUnderTest.atDashboard()
        app.tap(.menu)
        app.background()
        app.wait(400)
        #expect(app.resume() == .asks(.lock))
        app.snapshot.attemptNotice = AttemptNotice(wrongPINs: 1, since: nil, tampering: [])
        #expect(app.locked() == .shows("UC2.3/1.3"))
        #expect(app.value("notice") == nil)
        app.unlock()
        #expect(app.state == .shows("UC7.1/1.2"))
        #expect(app.value("notice") == .text("1 wrong PIN."))
    }

    @Test("a hint says that a PIN decides, with the wrong PINs if there are any, in both languages")
    func hints() {
        func values(_ hint: AttemptHint, _ language: Wording.Language) -> [String: Screen.Value] {
            var scene = Dialog("UC7.1/1.1", .screen, .dashboard).scene
            scene.notice = AttemptNotice(wrongPINs: 1, since: self.since, tampering: [], hint: hint)
            return Wording(language: language).screen(scene, at: self.since, uptime: .zero).values
        }
        let guesses = AttemptHint(finding: .unexplainedAttempts, wrongPINs: 3, lastWrong: self.since)
        let english = values(guesses, .english)
        guard case .text(let text) = english["notice"] else { return #expect(Bool(false), "no notice") }
        let expected =
            #/
            PINs\ may\ have\ been\ tried\ that\ this\ app\ did\ not\ send:
            \ 3\ wrong\ PINs,\ the\ last\ one\ \w+\ \d\d:\d\d\.\ Enter\ your\ PIN\ to\ check\ this\.
            /#
        #expect(text.wholeMatch(of: expected) != nil, "\(text)")
        #expect(english["wrongPINs"] == .number(3) && english["attemptHint"] == .text("unexplained-attempts"))
        #expect(english["tampering"] == nil, "only a receipt shows tampering")
        let right = AttemptHint(finding: .unexplainedAttempts, wrongPINs: 0, lastWrong: nil)
        #expect(
            values(right, .dutch)["notice"]
                == .text(
                    "Er zijn misschien pincodes geprobeerd die deze app niet heeft verstuurd. "
                        + "Controleer dit met je pincode."
                )
        )
        let back = AttemptHint(finding: .numberBack, wrongPINs: 0, lastWrong: nil)
        #expect(
            values(back, .english)["notice"]
                == .text("Our count of your PIN attempts may be wrong (number-back). Enter your PIN to check this.")
        )
    }

    @Test("a time within the week is a weekday, an older one a date, with the year if it is not this one")
    func times() {
        let notice = AttemptNotice(wrongPINs: 2, since: self.since, tampering: [])
        func text(_ wording: Wording, after: Duration) -> String {
            var scene = Dialog("UC7.1/1.1", .screen, .dashboard).scene
            scene.notice = notice
            let screen = wording.screen(scene, at: self.since + after, uptime: .zero)
            guard case .text(let text) = screen.values["notice"] else { return "" }
            return text
        }
        let english = text(Wording(), after: .seconds(3600))
        let weekday = /2 wrong PINs since (Sun|Mon|Tues|Wednes|Thurs|Fri|Satur)day \d\d:\d\d\./
        #expect(english.wholeMatch(of: weekday) != nil, "\(english)")
        let date = text(Wording(), after: .seconds(8 * 24 * 3600))
        #expect(date.wholeMatch(of: /2 wrong PINs since 1[45] November \d\d:\d\d\./) != nil, "\(date)")
        let year = text(Wording(), after: .seconds(400 * 24 * 3600))
        #expect(year.wholeMatch(of: /2 wrong PINs since 1[45] November 2023 \d\d:\d\d\./) != nil, "\(year)")
        let dutch = text(Wording(language: .dutch), after: .seconds(3600))
        #expect(dutch.wholeMatch(of: /2 foute pincodes sinds (dins|woens)dag \d\d:\d\d\./) != nil, "\(dutch)")
    }
}
