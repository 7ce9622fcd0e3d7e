import Foundation
import HTTPTypes
import TestSupport
import Testing
import Vocabulary

@testable import DeletionPortal

@Suite("The deletion portal's page")
struct PortalPageTests {
    @Test("a code is asked about before anything is done, then its wallet is deleted and the time told; again the same")
    func deletion() async throws {
        let portal = try TestPortal()
        try await portal.run { visitor in
            let question = try await visitor.check("4k7w 9q2m–xh3t—ob8r iz")
            #expect(question.status == .ok && question.heading == "Do you want to delete this wallet?")
            #expect(question.typed == TestDesk.code)
            #expect(portal.desk.asked.isEmpty, "nothing is done before the yes")
            let fields: KeyValuePairs = ["seal": question.seal, "code": question.typed, "step": "delete"]
            for _ in 0..<3 {
                let done = try await visitor.post(fields)
                #expect(done.status == .ok && done.heading == "Your NL Wallet was deleted")
                #expect(done.body.contains(">18 November 2026 at 12:06<"))
                #expect(done.body.contains("Central European Standard Time"))
                #expect(done.body.contains("datetime=\"2026-11-18T11:06:40Z\""))
            }
            #expect(portal.desk.asked == Array(repeating: "4K7W9Q2MXH3T0B8R1Z", count: 3))
        }
        #expect(!portal.log.text.contains("4K7W"))
    }

    @Test(
        "every wrong code is told alike and asked for alike, whatever is wrong with it",
        arguments: ["4K7W-9Q2M-XH3T-0B8R-1X", "4K7W", "U", "my password", String(repeating: "-", count: 64) + "x"]
    )
    func wrong(code: String) async throws {
        let portal = try TestPortal()
        try await portal.run { visitor in
            let told = try await visitor.delete(code)
            #expect(told.status == .unprocessableContent)
            #expect(told.body.contains("Something is wrong with this code"))
            #expect(
                told.body.contains("aria-invalid=\"true\"") && told.body.contains("aria-describedby=\"hint error\"")
            )
            #expect(portal.desk.asked.map(\.utf8.count) == [18], "looked up as any other")
            let usual = try await visitor.delete("0000-0000-0000-0000-00")
            let plain = [told, usual].map { page in
                page.body.replacingOccurrences(of: "value=\"\(page.typed)\"", with: "")
                    .replacing(#/value="[0-9]+\.[^"]*"/#, with: "")
            }
            #expect(plain[0] == plain[1])
        }
        #expect(!portal.log.text.contains(code) || code.count < 2)
    }

    @Test("nothing typed is told at the field, and nobody is asked")
    func missing() async throws {
        let portal = try TestPortal()
        try await portal.run { visitor in
            for blank in ["", "  ", "\u{2003}\t"] {
                let told = try await visitor.check(blank)
                #expect(told.status == .unprocessableContent && told.body.contains("Type your deletion code."))
                #expect(told.body.contains("<title>Error: "))
            }
            #expect(portal.desk.asked.isEmpty)
        }
    }

    @Test("a server that is away is told with what was done: nothing, or nobody knows; neither is a wrong code")
    func away() async throws {
        let portal = try TestPortal()
        try await portal.run { visitor in
            for _ in 0..<12 {
                portal.desk.answer(.away(retryAfter: .seconds(60)))
                let away = try await visitor.delete(TestDesk.code)
                #expect(away.status == .serviceUnavailable && away.headers[.retryAfter] == "60")
                #expect(away.body.contains("Nothing was deleted."))
                portal.desk.answer(.unknown)
                let unknown = try await visitor.post(["seal": away.seal, "code": away.typed, "step": "delete"])
                #expect(unknown.status == .badGateway && unknown.body.contains("may or may not have been deleted"))
                #expect(!unknown.body.contains("Nothing was deleted"))
                portal.desk.answer(.wait(.milliseconds(1500)))
                let busy = try await visitor.post(["seal": unknown.seal, "code": unknown.typed, "step": "delete"])
                #expect(busy.status == .tooManyRequests && busy.headers[.retryAfter] == "2")
            }
            portal.desk.answer(nil)
            #expect(try await visitor.delete(TestDesk.code).heading == "Your NL Wallet was deleted")
        }
    }

    @Test(
        "the language is the browser's until the person says otherwise",
        arguments: [
            (nil, "en"), ("", "en"), ("nl", "nl"), ("nl-BE,en;q=0.9", "nl"), ("de, nl;q=0.5, en;q=0.4", "nl"),
            ("en-US,en;q=0.9,nl;q=0.8", "en"), ("NL;Q=1.0", "nl"), ("nl;q=0, en;q=0.1", "en"), ("fr", "en"),
            ("*", "en"), (";;q=,,=", "en"), ("nl;q=nan", "en"),
        ] as [(String?, String)]
    )
    func language(accepted: String?, shown: String) async throws {
        #expect(Language(accepting: accepted).rawValue == shown)
        try await TestPortal().run { visitor in
            let headers: HTTPFields = accepted.map { [.acceptLanguage: $0] } ?? [:]
            let page = try await visitor.get("/", headers)
            #expect(page.headers[.contentLanguage] == shown && page.body.contains("<html lang=\"\(shown)\">"))
            let other = try await visitor.get(shown == "nl" ? "/en" : "/nl", headers)
            #expect(other.headers[.contentLanguage] != shown, "a visible switch outranks the browser")
        }
    }

    @Test("both languages say everything, and the switch keeps what was typed")
    func languages() async throws {
        for language in Language.allCases {
            for case (let name?, let text as String) in Mirror(reflecting: language.words).children {
                #expect(!text.isEmpty && !text.contains("  "), "\(language) \(name)")
            }
            #expect(language.words.consequences.count == 3 && language.words.doneNext.count == 2)
        }
        try await TestPortal().run { visitor in
            let question = try await visitor.check(TestDesk.code)
            let buttons = question.body.components(separatedBy: "<nav")[1].components(separatedBy: "</nav>")[0]
            #expect(buttons.contains("action=\"/nl\"") && buttons.contains("value=\"\(TestDesk.code)\""))
            let seal = try #require(
                buttons.components(separatedBy: "name=\"seal\" value=\"").last?.split(separator: "\"").first
            )
            let dutch = try await visitor.post(
                ["seal": String(seal), "code": TestDesk.code, "step": "check"],
                to: "/nl"
            )
            #expect(dutch.heading == "Wil je deze wallet verwijderen?" && dutch.typed == TestDesk.code)
        }
    }

    @Test("product, zone and help link are the operator's")
    func operatorsOwn() async throws {
        let portal = try TestPortal(
            settings: [
                ("portal.product", "A<b> & Co"), ("portal.time-zone", "UTC"),
                ("portal.help-link", "https://help.example/?a=1&b"),
            ]
        )
        try await portal.run { visitor in
            let form = try await visitor.get()
            #expect(form.body.contains("Delete your A&lt;b&gt; &amp; Co") && !form.body.contains("A<b>"))
            #expect(form.body.contains("href=\"https://help.example/?a=1&amp;b\""))
            #expect(try await visitor.delete(TestDesk.code).body.contains("18 November 2026 at 11:06<"))
        }
    }
}
