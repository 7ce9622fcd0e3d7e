import HTTPTypes
import ServerSettings
import TestSupport
import Testing
import Transport
import Vocabulary

@testable import DeletionPortal

@Suite("The deletion portal's limit of wrong codes")
struct PortalLimitTests {
    @Test("after ten wrong codes in an hour, a source is rejected with a waiting time; right codes are not counted")
    func tenWrong() async throws {
        let portal = try TestPortal()
        try await portal.run { browser in
            let start = portal.clock.now()
            for number in 0..<10 {
                #expect(try await browser.delete(FakeRevocationService.code).status == .ok)
                #expect(try await browser.delete("wrong \(number)").status == .unprocessableContent)
                portal.clock.advance(by: .seconds(60))
            }
            for code in ["wrong", FakeRevocationService.code] {
                let response = try await browser.delete(code)
                #expect(response.status == .tooManyRequests && response.heading == "Too many wrong codes")
                #expect(response.headers[.retryAfter] == "3000" && response.body.contains("in 50 minutes"))
                #expect(response.body.contains(">13:06<"))
                #expect(response.body.contains("Central European Standard Time, in 50"))
                #expect(!response.body.contains("<button"), "no button until the limit ends")
            }
            #expect(portal.service.asked.count == 20, "the codes of a limited source are not looked up")
            let question = try await browser.at("192.0.2.7").delete(FakeRevocationService.code)
            #expect(question.status == .ok, "other sources are not affected")
            portal.clock.advance(by: start + .seconds(3600) - portal.clock.now() - .milliseconds(1))
            #expect(try await browser.delete(FakeRevocationService.code).status == .tooManyRequests)
            portal.clock.advance(by: .milliseconds(1))
            #expect(try await browser.delete("wrong").status == .unprocessableContent)
            #expect(try await browser.delete("wrong").status == .tooManyRequests, "each wrong code counts for an hour")
        }
    }

    @Test("concurrent codes are counted as if they arrived one after another")
    func parallel() async throws {
        let gate = Gate()
        let portal = try TestPortal(service: FakeRevocationService(gate: gate))
        try await portal.run { browser in
            let question = try await browser.check("wrong")
            try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { tries in
                for _ in 0..<40 {
                    tries.addTask {
                        try await browser.post(["seal": question.seal, "code": question.typed, "step": "delete"]).status
                    }
                }
                var statuses: [HTTPResponse.Status] = []
                for _ in 0..<30 { statuses.append(try await tries.next().orThrow()) }
                #expect(statuses.allSatisfy { $0 == .tooManyRequests }, "ten lookups are in progress, and no more")
                gate.open()
                while let status = try await tries.next() { statuses.append(status) }
                #expect(statuses.count { $0 == .unprocessableContent } == 10)
            }
            #expect(portal.service.asked.count == 10)
        }
    }

    @Test(
        "the source is the last address that was not added by a trusted proxy",
        arguments: [
            ("192.0.2.1", ["203.0.113.5"], "192.0.2.1"),
            ("127.0.0.1", [], "127.0.0.1"),
            ("127.0.0.1", ["203.0.113.5"], "203.0.113.5"),
            ("127.0.0.1", ["198.51.100.1, 203.0.113.5"], "203.0.113.5"),
            ("127.0.0.1", ["198.51.100.1", "203.0.113.5"], "203.0.113.5"),
            ("127.0.0.1", ["198.51.100.1, 203.0.113.5, 10.1.2.3"], "203.0.113.5"),
            ("127.0.0.1", ["10.0.0.9, 10.0.0.8"], "10.0.0.9"),
            ("127.0.0.1", ["203.0.113.5, unknown"], "127.0.0.1"),
            ("127.0.0.1", ["203.0.113.5, unknown, 10.0.0.8"], "10.0.0.8"),
            ("127.0.0.1", [""], "127.0.0.1"), ("127.0.0.1", ["1.2.3.4\u{0}, x, ,"], "127.0.0.1"),
            ("127.0.0.1", ["203.0.113.5:4711"], "203.0.113.5"),
            ("127.0.0.1", ["[2001:db8:1:2:3::4]:4711"], "2001:db8:1:2::/64"),
            ("127.0.0.1", ["2001:db8:1:2:ffff::1"], "2001:db8:1:2::/64"),
            ("127.0.0.1", ["::ffff:203.0.113.5"], "203.0.113.5"),
            ("::ffff:127.0.0.1", ["203.0.113.5"], "203.0.113.5"),
            ("fd00::1", ["203.0.113.5"], "203.0.113.5"), ("fe00::1", ["203.0.113.5"], "fe00:0:0:0::/64"),
        ] as [(String, [String], String)]
    )
    func source(peer: String, forwarded: [String], expected: String) throws {
        let proxies = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"].compactMap { AddressRange($0) }
        try #require(proxies.count == 3)
        let source = ClientSource(trusting: proxies).source(peer: peer, forwardedFor: forwarded)
        #expect(source?.description == expected)
    }

    @Test("a client cannot choose its own address before the proxy, and an IPv6 network is one source")
    func spoofed() async throws {
        let portal = try TestPortal()
        try await portal.run { browser async throws in
            for number in 0..<10 {
                let sent = browser.at("198.51.100.\(number), 2001:db8:0:7:\(number)::\(number)")
                #expect(try await sent.delete("wrong").status == .unprocessableContent)
            }
            let again = browser.at("203.0.113.99, 2001:db8:0:7:ffff::1")
            #expect(try await again.delete("wrong").status == .tooManyRequests)
            #expect(try await browser.at("2001:db8:0:8::1").delete("wrong").status == .unprocessableContent)
        }
        let untrusting = try TestPortal(settings: [("portal.trusted-proxies", "[192.0.2.1]")])
        try await untrusting.run { browser in
            for number in 0..<10 { _ = try await browser.at("198.51.100.\(number)").delete("wrong") }
            #expect(try await browser.at("203.0.113.1").delete("wrong").status == .tooManyRequests)
            #expect(Set(untrusting.service.sources).count == 1)
        }
    }

    @Test("memory is bounded: the oldest sources are evicted, never one with a lookup in progress")
    func bounded() throws {
        let limit = WrongCodeLimit(capacity: 100)
        let now = Timestamp(milliseconds: 0)
        func source(_ number: Int) throws -> PeerSource {
            try #require(PeerSource(address: "10.0.\(number / 256).\(number % 256)"))
        }
        let (held, latest) = (try source(60_000), try source(60_001))
        #expect(limit.begin(held, at: now) == nil)
        for number in 0..<5000 {
            let time = now + .milliseconds(number)
            #expect(limit.begin(try source(number), at: time) == nil)
            limit.end(try source(number), at: time, wasWrong: true)
            #expect(limit.count <= 100)
        }
        for _ in 0..<10 {
            #expect(limit.begin(latest, at: now + .seconds(6)) == nil)
            limit.end(latest, at: now + .seconds(6), wasWrong: true)
        }
        #expect(limit.begin(latest, at: now + .seconds(7)) == now + .seconds(3606))
        for _ in 0..<9 { #expect(limit.begin(held, at: now) == nil) }
        #expect(limit.begin(held, at: now) != nil, "the source was not evicted")
        #expect(limit.begin(try source(4999), at: now + .seconds(4000)) == nil)
        let count = limit.count
        for number in 0..<4000 {
            #expect(limit.begin(try source(10_000 + number), at: now + .seconds(4000)) == nil)
            limit.end(try source(10_000 + number), at: now + .seconds(4000), wasWrong: false)
        }
        #expect(limit.count <= count, "right codes leave no entry")
    }

    @Test(
        "address ranges are parsed in all their forms, and nothing else is accepted",
        arguments: [
            ("10.0.0.0/8", true), ("0.0.0.0/0", true), ("::/0", true), ("2001:db8::/32", true), ("127.0.0.1", true),
            ("10.0.0.1/8", false), ("10.0.0.0/33", false), ("10.0.0.0/-1", false), ("10.0.0.0/", false),
            ("10/8", false),
            ("", false), ("localhost", false), ("::1/129", false), ("10.0.0.0/8/8", false), ("10.0.0.0/+8", false),
        ]
    )
    func networks(text: String, isOne: Bool) {
        #expect((AddressRange(text) != nil) == isOne)
    }
}
