import Foundation
import HTTPTypes
import Testing

@testable import DeletionPortal

@Suite("The deletion portal's page")
struct PortalPageTests {
    @Test("a code is confirmed before its wallet is deleted, and the time is shown; a repetition shows the same")
    func deletion() async throws {
        let portal = try TestPortal()
        try await portal.run { browser in
            let question = try await browser.check("4k7w 9q2m–xh3t—ob8r iz")
            #expect(question.status == .ok && question.heading == "Do you want to delete this wallet?")
            #expect(question.typed == FakeRevocationService.code)
            #expect(portal.service.asked.isEmpty, "nothing is deleted before the confirmation")
            let fields: KeyValuePairs = ["seal": question.seal, "code": question.typed, "step": "delete"]
            for _ in 0..<3 {
                let done = try await browser.post(fields)
                #expect(done.status == .ok && done.heading == "Your NL Wallet was deleted")
                #expect(done.body.contains(">18 November 2026 at 12:06<"))
                #expect(done.body.contains("Central European Standard Time"))
                #expect(done.body.contains("datetime=\"2026-11-18T11:06:40Z\""))
            }
            #expect(portal.service.asked == Array(repeating: "4K7W9Q2MXH3T0B8R1Z", count: 3))
        }
        #expect(!portal.log.text.contains("4K7W"))
    }

    @Test(
        "every wrong code gets the same page and the same lookup, with any kind of error",
        arguments: ["4K7W-9Q2M-XH3T-0B8R-1X", "4K7W", "U", "my password", String(repeating: "-", count: 64) + "x"]
    )
    func wrong(code: String) async throws {
        let portal = try TestPortal()
        try await portal.run { browser in
            let response = try await browser.delete(code)
            #expect(response.status == .unprocessableContent)
            #expect(response.body.contains("Something is wrong with this code"))
            #expect(
                response.body.contains("aria-invalid=\"true\"")
                    && response.body.contains("aria-describedby=\"hint error\"")
            )
            #expect(portal.service.asked.map(\.utf8.count) == [18], "looked up like any other code")
            let usual = try await browser.delete("0000-0000-0000-0000-00")
            let plain = [response, usual].map { page in
                page.body.replacingOccurrences(of: "value=\"\(page.typed)\"", with: "")
                    .replacing(#/value="[0-9]+\.[^"]*"/#, with: "")
            }
            #expect(plain[0] == plain[1])
        }
        #expect(!portal.log.text.contains(code) || code.count < 2)
    }

    @Test("an empty field is reported at the field, without a lookup")
    func missing() async throws {
        let portal = try TestPortal()
        try await portal.run { browser in
            for blank in ["", "  ", "\u{2003}\t"] {
                let response = try await browser.check(blank)
                #expect(response.status == .unprocessableContent && response.body.contains("Type your deletion code."))
                #expect(response.body.contains("<title>Error: "))
            }
            #expect(portal.service.asked.isEmpty)
        }
    }

    @Test("if the server is unreachable the page says whether nothing was deleted or the outcome is unknown")
    func away() async throws {
        let portal = try TestPortal()
        try await portal.run { browser in
            for _ in 0..<12 {
                portal.service.answer(.away(retryAfter: .seconds(60)))
                let away = try await browser.delete(FakeRevocationService.code)
                #expect(away.status == .serviceUnavailable && away.headers[.retryAfter] == "60")
                #expect(away.body.contains("Nothing was deleted."))
                portal.service.answer(.unknown)
                let unknown = try await browser.post(["seal": away.seal, "code": away.typed, "step": "delete"])
                #expect(unknown.status == .badGateway && unknown.body.contains("may or may not have been deleted"))
                #expect(!unknown.body.contains("Nothing was deleted"))
                portal.service.answer(.wait(.milliseconds(1500)))
                let busy = try await browser.post(["seal": unknown.seal, "code": unknown.typed, "step": "delete"])
                #expect(busy.status == .tooManyRequests && busy.headers[.retryAfter] == "2")
            }
            portal.service.answer(nil)
            #expect(try await browser.delete(FakeRevocationService.code).heading == "Your NL Wallet was deleted")
        }
    }

    @Test(
        "the language follows the browser until the user chooses one",
        arguments: [
            (nil, "en"), ("", "en"), ("nl", "nl"), ("nl-BE,en;q=0.9", "nl"), ("de, nl;q=0.5, en;q=0.4", "nl"),
            ("en-US,en;q=0.9,nl;q=0.8", "en"), ("NL;Q=1.0", "nl"), ("nl;q=0, en;q=0.1", "en"), ("fr", "en"),
            ("*", "en"), (";;q=,,=", "en"), ("nl;q=nan", "en"),
        ] as [(String?, String)]
    )
    func language(accepted: String?, shown: String) async throws {
        #expect(Language(accepting: accepted).rawValue == shown)
        try await TestPortal().run { browser in
            let headers: HTTPFields = accepted.map { [.acceptLanguage: $0] } ?? [:]
            let page = try await browser.get("/", headers)
            #expect(page.headers[.contentLanguage] == shown && page.body.contains("<html lang=\"\(shown)\">"))
            let other = try await browser.get(shown == "nl" ? "/en" : "/nl", headers)
            #expect(other.headers[.contentLanguage] != shown, "the visible choice overrides the browser")
        }
    }

    @Test("both languages have all texts, and the switch keeps the typed text")
    func languages() async throws {
        for language in Language.allCases {
            for case (let name?, let text as String) in Mirror(reflecting: language.words).children {
                #expect(!text.isEmpty && !text.contains("  "), "\(language) \(name)")
            }
            #expect(language.words.consequences.count == 3 && language.words.doneNext.count == 2)
        }
        try await TestPortal().run { browser in
            let question = try await browser.check(FakeRevocationService.code)
            let buttons = question.body.components(separatedBy: "<nav")[1].components(separatedBy: "</nav>")[0]
            #expect(buttons.contains("action=\"/nl\"") && buttons.contains("value=\"\(FakeRevocationService.code)\""))
            let seal = try #require(
                buttons.components(separatedBy: "name=\"seal\" value=\"").last?.split(separator: "\"").first
            )
            let dutch = try await browser.post(
                ["seal": String(seal), "code": FakeRevocationService.code, "step": "check"],
                to: "/nl"
            )
            #expect(dutch.heading == "Wil je deze wallet verwijderen?" && dutch.typed == FakeRevocationService.code)
        }
    }

    @Test("product, time zone and help link come from the operator's settings")
    func operatorsOwn() async throws {
        let portal = try TestPortal(
            settings: [
                ("portal.product", "A<b> & Co"), ("portal.time-zone", "UTC"),
                ("portal.help-link", "https://help.example/?a=1&b"),
            ]
        )
        try await portal.run { browser in
            let form = try await browser.get()
            #expect(form.body.contains("Delete your A&lt;b&gt; &amp; Co") && !form.body.contains("A<b>"))
            #expect(form.body.contains("href=\"https://help.example/?a=1&amp;b\""))
            #expect(try await browser.delete(FakeRevocationService.code).body.contains("18 November 2026 at 11:06<"))
        }
    }
}
