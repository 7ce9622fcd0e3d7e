import Testing
import Vocabulary

@testable import WalletFlows

@Suite("Texts in every language")
struct WordingTests {
    @Test("the product's name is the configured one", arguments: Wording.Language.allCases)
    func product(language: Wording.Language) throws {
        var app = AppUnderTest(setup: .done)
        app.launch()
        app.timer()
        app.answer(.updatePolicy(.ok, solutionRevoked: false))
        app.answer(.status(.revoked(Revocation(reason: .solution, mayRegisterAnew: false))))
        let scene = try #require(app.app.scene)
        let wording = Wording(language: language, product: "Testwallet")
        let screen = wording.screen(scene, at: app.snapshot.now, uptime: app.snapshot.uptime)
        #expect(screen.title.hasPrefix("Testwallet "))
        #expect(screen.message.contains("Testwallet"))
        #expect(!(screen.title + screen.message).contains("NL Wallet"))
    }

    @Test("every action has a title in every language, and few titles are the same in two")
    func actions() {
        for action in ActionID.allCases {
            #expect(!Dutch(product: "P", now: .init(milliseconds: 0), uptime: .zero).title(action).isEmpty)
            #expect(!English(product: "P", now: .init(milliseconds: 0), uptime: .zero).title(action).isEmpty)
        }
        let same = ActionID.allCases.filter { action in
            Dutch(product: "P", now: .init(milliseconds: 0), uptime: .zero).title(action)
                == English(product: "P", now: .init(milliseconds: 0), uptime: .zero).title(action)
        }
        #expect(Set(same) == [.help, .info, .menu, .ok])
    }

    @Test("the Dutch title of Either means one of the two, not both")
    func either() {
        #expect(Dutch(product: "P", now: .init(milliseconds: 0), uptime: .zero).title(.either) == "Een van beide")
    }

    @Test(
        "Dutch counts down in seconds, minutes, hours or days, rounded up",
        arguments: [
            (60_000, "1 minuut"), (60_001, "2 minuten"), (59_000, "59 seconden"), (500, "1 seconde"),
            (3_600_000, "60 minuten"), (7_200_001, "3 uur"), (172_800_001, "3 dagen"),
        ]
    )
    func countdown(_ expected: (Int64, String)) {
        #expect(Dutch.countdown(.milliseconds(expected.0)) == expected.1)
    }

    @Test("the longest time that a server can send is written like any other")
    func longestTime() {
        let longest = Duration.milliseconds(Int64.max)
        #expect(LongTime(longest) == .days(106_751_991_167))
        #expect(Countdown(longest) == .days(106_751_991_168))
        #expect(LongTime(Duration.milliseconds(3_600_001)) == .hours(2))
    }

    @Test("languages are known by their codes")
    func codes() {
        #expect(Wording.Language.allCases.map(\.rawValue) == ["en", "nl"])
    }
}
