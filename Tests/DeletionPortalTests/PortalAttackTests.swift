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
        "a form sent from another site is rejected, with any content",
        arguments: [
            [.origin: "https://evil.example"], [.fetchSite: "cross-site"], [.fetchSite: "same-site"],
            [.fetchSite: "same-origin, cross-site"], [.origin: "https://evil.example", .fetchSite: "same-origin"],
            [.origin: "https://localhost.evil.example"], [.origin: "localhost"], [.origin: ""],
        ] as [HTTPFields]
    )
    func forged(headers: HTTPFields) async throws {
        let portal = try TestPortal()
        try await portal.run { browser in
            let question = try await browser.check(FakeRevocationService.code)
            let fields: KeyValuePairs = ["seal": question.seal, "code": question.typed, "step": "delete"]
            let refused = try await browser.post(fields, headers)
            #expect(refused.status == .forbidden && refused.heading == "This request was not accepted")
            #expect(portal.service.asked.isEmpty)
            let own: [HTTPFields] = [
                [:], [.origin: "null"], [.fetchSite: "same-origin"], [.fetchSite: "none"],
                [.origin: "http://localhost"], [.origin: "null", .fetchSite: "same-origin"],
            ]
            for headers in own { #expect(try await browser.post(fields, headers).status == .ok) }
        }
    }

    @Test("without a seal of this portal for this source, code and hour no code is looked up")
    func seals() async throws {
        let portal = try TestPortal()
        try await portal.run { browser in
            let question = try await browser.at("192.0.2.1").check(FakeRevocationService.code)
            let form = try await browser.at("192.0.2.1").get()
            let other = try await browser.at("192.0.2.1").check("0000-0000-0000-0000-00")
            let (time, mac) = (question.seal.split(separator: ".")[0], question.seal.split(separator: ".")[1])
            let later = "\((Int64(time) ?? 0) + 1).\(mac)"
            for seal in ["", "x", ".", "1.x", form.seal, other.seal, later, "\(time).", question.seal + ".1"] {
                let stale = try await browser.at("192.0.2.1")
                    .post(["seal": seal, "code": FakeRevocationService.code, "step": "delete"])
                #expect(
                    stale.status == .forbidden && stale.typed == FakeRevocationService.code,
                    "the form again, with the typed text"
                )
                #expect(stale.body.contains("was open for too long"))
            }
            let fields: KeyValuePairs = ["seal": question.seal, "code": FakeRevocationService.code, "step": "delete"]
            #expect(try await browser.at("192.0.2.2").post(fields).status == .forbidden)
            #expect(portal.service.asked.isEmpty)
            portal.clock.advance(by: FormSeal.lifetime - .milliseconds(1))
            #expect(try await browser.at("192.0.2.1").post(fields).status == .ok)
            portal.clock.advance(by: .milliseconds(1))
            #expect(try await browser.at("192.0.2.1").post(fields).status == .forbidden)
            #expect(portal.service.asked.count == 1)
        }
        let elsewhere = try TestPortal()
        try await elsewhere.run { browser in
            let foreign = FormSeal().seal(
                .delete,
                code: FakeRevocationService.code,
                for: try #require(.init(address: "127.0.0.1")),
                at: elsewhere.clock.now()
            )
            let fields: KeyValuePairs = ["seal": foreign, "code": FakeRevocationService.code, "step": "delete"]
            #expect(try await browser.post(fields).status == .forbidden)
        }
        #expect(elsewhere.service.asked.isEmpty)
    }

    @Test("user input never becomes HTML, a header or a log line")
    func injection() async throws {
        let portal = try TestPortal()
        let hostile = "\"><script>alert(1)</script>\r\nSet-Cookie: a=b {{words.yes}} {{{style}}}"
        try await portal.run { browser in
            for page in [try await browser.check(hostile), try await browser.delete(hostile)] {
                #expect(!page.body.contains("<script") && page.body.contains("&lt;script"))
                #expect(page.body.contains("{{words.yes}}"), "the portal fills in no template of a client")
                #expect(page.headers[.setCookie] == nil)
            }
            let paths = ["/%0d%0aSet-Cookie:x", "/en/../nl", "/<script>", "/?lang=%0d%0a", "//evil.example", "/.."]
            for path in paths {
                let page = try await browser.get(path, [.acceptLanguage: "nl\tq", .forwardedFor: "<script>"])
                #expect(page.headers[.setCookie] == nil && page.headers[.location] == nil)
                #expect(!page.body.contains("<script"))
            }
        }
        #expect(!portal.log.text.contains("script"))
    }

    @Test("responses cannot be cached or framed, load nothing and send no referrer")
    func headers() async throws {
        try await TestPortal().run { browser in
            var pages = [
                try await browser.get("/"), try await browser.get("/nl"), try await browser.get("/nothing"),
                try await browser.get("/livez"), try await browser.check(FakeRevocationService.code),
                try await browser.delete(FakeRevocationService.code), try await browser.delete("wrong"),
                try await browser.post(["step": "delete"]), try await browser.post([:]),
            ]
            pages.append(try await browser.request(.head, "/en"))
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

    @Test("bodies that are not forms of the portal are rejected and cost no attempt")
    func bodies() async throws {
        let portal = try TestPortal()
        try await portal.run { browser in
            let form = try await browser.get()
            let form1: HTTPFields = [.contentType: "application/x-www-form-urlencoded; charset=utf-8"]
            let good = "seal=\(Browser.escaped(form.seal))&code=1&step=check"
            #expect(try await browser.request(.post, "/en", form1, body: good).status == .ok)
            let huge = String(repeating: "a", count: 5_000_000)
            for (body, status) in [
                (good + "&code=2", HTTPResponse.Status.badRequest), ("step=check&code=%", .badRequest),
                ("step=check&code=%ff", .badRequest), ("step=destroy", .badRequest), ("", .badRequest),
                ("code=" + huge, .contentTooLarge), (good + "&x=" + huge.prefix(2048), .contentTooLarge),
            ] {
                let response = try await browser.at("192.0.2.9").request(.post, "/en", form1, body: body)
                #expect(response.status == status, "\(body.prefix(40))")
                #expect(response.body.contains("longer than a deletion code") == (status == .contentTooLarge))
            }
            for type in ["text/plain", "multipart/form-data; boundary=x", "application/json", ""] {
                let response = try await browser.request(.post, "/en", [.contentType: type], body: good)
                #expect(response.status == .unsupportedMediaType)
            }
            for method in [HTTPRequest.Method.put, .delete, .options, .patch] {
                #expect(try await browser.request(method, "/en").status == .methodNotAllowed)
            }
            #expect(try await browser.request(.post, "/livez", form1, body: good).status == .notFound)
            #expect(portal.service.asked.isEmpty)
        }
    }
}
