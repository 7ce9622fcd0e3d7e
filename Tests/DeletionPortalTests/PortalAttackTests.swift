import Foundation
import HTTPTypes
import TestSupport
import Testing
import Transport
import Vocabulary

@testable import DeletionPortal

@Suite("Attacks on the deletion portal")
struct PortalAttackTests {
    @Test(
        "a form of another site is refused, whatever it carries",
        arguments: [
            [.origin: "https://evil.example"], [.fetchSite: "cross-site"], [.fetchSite: "same-site"],
            [.fetchSite: "same-origin, cross-site"], [.origin: "https://evil.example", .fetchSite: "same-origin"],
            [.origin: "https://localhost.evil.example"], [.origin: "localhost"], [.origin: ""],
        ] as [HTTPFields]
    )
    func forged(headers: HTTPFields) async throws {
        let portal = try TestPortal()
        try await portal.run { visitor in
            let question = try await visitor.check(TestDesk.code)
            let fields: KeyValuePairs = ["seal": question.seal, "code": question.typed, "step": "delete"]
            let refused = try await visitor.post(fields, headers)
            #expect(refused.status == .forbidden && refused.heading == "This request was not accepted")
            #expect(portal.desk.asked.isEmpty)
            let own: [HTTPFields] = [
                [:], [.origin: "null"], [.fetchSite: "same-origin"], [.fetchSite: "none"],
                [.origin: "http://localhost"], [.origin: "null", .fetchSite: "same-origin"],
            ]
            for headers in own { #expect(try await visitor.post(fields, headers).status == .ok) }
        }
    }

    @Test("without a seal of this portal, for this source, this code and this hour nothing is asked")
    func seals() async throws {
        let portal = try TestPortal()
        try await portal.run { visitor in
            let question = try await visitor.at("192.0.2.1").check(TestDesk.code)
            let form = try await visitor.at("192.0.2.1").get()
            let other = try await visitor.at("192.0.2.1").check("0000-0000-0000-0000-00")
            let (time, mac) = (question.seal.split(separator: ".")[0], question.seal.split(separator: ".")[1])
            let later = "\((Int64(time) ?? 0) + 1).\(mac)"
            for seal in ["", "x", ".", "1.x", form.seal, other.seal, later, "\(time).", question.seal + ".1"] {
                let stale = try await visitor.at("192.0.2.1")
                    .post(["seal": seal, "code": TestDesk.code, "step": "delete"])
                #expect(
                    stale.status == .forbidden && stale.typed == TestDesk.code,
                    "the form again, with what was typed"
                )
                #expect(stale.body.contains("was open for too long"))
            }
            let fields: KeyValuePairs = ["seal": question.seal, "code": TestDesk.code, "step": "delete"]
            #expect(try await visitor.at("192.0.2.2").post(fields).status == .forbidden)
            #expect(portal.desk.asked.isEmpty)
            portal.clock.advance(by: FormSeal.lifetime - .milliseconds(1))
            #expect(try await visitor.at("192.0.2.1").post(fields).status == .ok)
            portal.clock.advance(by: .milliseconds(1))
            #expect(try await visitor.at("192.0.2.1").post(fields).status == .forbidden)
            #expect(portal.desk.asked.count == 1)
        }
        let elsewhere = try TestPortal()
        try await elsewhere.run { visitor in
            let foreign = FormSeal().seal(
                .delete,
                code: TestDesk.code,
                for: try #require(.init(address: "127.0.0.1")),
                at: elsewhere.clock.now()
            )
            let fields: KeyValuePairs = ["seal": foreign, "code": TestDesk.code, "step": "delete"]
            #expect(try await visitor.post(fields).status == .forbidden)
        }
        #expect(elsewhere.desk.asked.isEmpty)
    }

    @Test("what a person sends is never HTML, a header or a log line")
    func injection() async throws {
        let portal = try TestPortal()
        let hostile = "\"><script>alert(1)</script>\r\nSet-Cookie: a=b {{words.yes}} {{{style}}}"
        try await portal.run { visitor in
            for page in [try await visitor.check(hostile), try await visitor.delete(hostile)] {
                #expect(!page.body.contains("<script") && page.body.contains("&lt;script"))
                #expect(page.body.contains("{{words.yes}}"), "no template of theirs is filled in")
                #expect(page.headers[.setCookie] == nil)
            }
            let paths = ["/%0d%0aSet-Cookie:x", "/en/../nl", "/<script>", "/?lang=%0d%0a", "//evil.example", "/.."]
            for path in paths {
                let page = try await visitor.get(path, [.acceptLanguage: "nl\tq", .forwardedFor: "<script>"])
                #expect(page.headers[.setCookie] == nil && page.headers[.location] == nil)
                #expect(!page.body.contains("<script"))
            }
        }
        #expect(!portal.log.text.contains("script"))
    }

    @Test("every answer is sealed off: nothing kept, framed, loaded or referred")
    func headers() async throws {
        try await TestPortal().run { visitor in
            var pages = [
                try await visitor.get("/"), try await visitor.get("/nl"), try await visitor.get("/nothing"),
                try await visitor.get("/livez"), try await visitor.check(TestDesk.code),
                try await visitor.delete(TestDesk.code), try await visitor.delete("wrong"),
                try await visitor.post(["step": "delete"]), try await visitor.post([:]),
            ]
            pages.append(try await visitor.request(.head, "/en"))
            for page in pages {
                let policy = page.headers[.contentSecurityPolicy] ?? ""
                #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
                #expect(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"))
                #expect(!policy.contains("unsafe"))
                #expect(page.headers[.cacheControl] == "no-store")
                #expect(page.headers[.named("Referrer-Policy")] == "no-referrer")
                #expect(page.headers[.xContentTypeOptions] == "nosniff" && page.headers[.setCookie] == nil)
                #expect(!page.body.contains(" style=") && !page.body.contains("<script"))
            }
            #expect(pages.last?.body == "")
        }
    }

    @Test("bodies that are no form of ours are refused and cost nothing")
    func bodies() async throws {
        let portal = try TestPortal()
        try await portal.run { visitor in
            let form = try await visitor.get()
            let form1: HTTPFields = [.contentType: "application/x-www-form-urlencoded; charset=utf-8"]
            let good = "seal=\(Visitor.escaped(form.seal))&code=1&step=check"
            #expect(try await visitor.request(.post, "/en", form1, body: good).status == .ok)
            let huge = String(repeating: "a", count: 5_000_000)
            for (body, status) in [
                (good + "&code=2", HTTPResponse.Status.badRequest), ("step=check&code=%", .badRequest),
                ("step=check&code=%ff", .badRequest), ("step=destroy", .badRequest), ("", .badRequest),
                ("code=" + huge, .contentTooLarge), (good + "&x=" + huge.prefix(2048), .contentTooLarge),
            ] {
                let told = try await visitor.at("192.0.2.9").request(.post, "/en", form1, body: body)
                #expect(told.status == status, "\(body.prefix(40))")
                #expect(told.body.contains("longer than a deletion code") == (status == .contentTooLarge))
            }
            for type in ["text/plain", "multipart/form-data; boundary=x", "application/json", ""] {
                let told = try await visitor.request(.post, "/en", [.contentType: type], body: good)
                #expect(told.status == .unsupportedMediaType)
            }
            for method in [HTTPRequest.Method.put, .delete, .options, .patch] {
                #expect(try await visitor.request(method, "/en").status == .methodNotAllowed)
            }
            #expect(try await visitor.request(.post, "/livez", form1, body: good).status == .notFound)
            #expect(portal.desk.asked.isEmpty)
        }
    }
}
