import HTTPTypes
import TestSupport
import Testing

@testable import DeletionPortal

@Suite("Slow and broken peers of the deletion portal")
struct SlowPeerTests {
    private static func hasty() throws -> TestPortal {
        var limits = PortalServer.Limits()
        (limits.idle, limits.body) = (.milliseconds(300), .milliseconds(300))
        return try TestPortal(limits: limits)
    }

    @Test(
        "a client that sends nothing, half a header or half a body is disconnected",
        arguments: [
            "", "GET /en HTTP/1.1\r\nHost: local",
            "POST /en HTTP/1.1\r\nHost: localhost\r\nX: " + RawClient.head(byteCount: 1),
            RawClient.head(byteCount: 100) + "code=", RawClient.head(byteCount: 5_000_000) + "code=",
            "GET /en HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx",
        ]
    )
    func halves(sent: String) async throws {
        try await Self.hasty().run { browser in
            let peer = try await RawClient(port: browser.port)
            await peer.send(sent)
            #expect(await happens { await peer.closed() })
        }
    }

    @Test(
        "a body that arrives slowly is not an idle connection, and is still cut off for every method",
        arguments: ["POST", "GET", "PUT", "DELETE", "BREW"]
    )
    func trickle(method: String) async throws {
        let portal = try Self.hasty()
        try await portal.run { browser in
            let peer = try await RawClient(port: browser.port)
            await peer.send(RawClient.head(method, byteCount: 1_000_000))
            let dripping = Task { while !Task.isCancelled { await peer.send("a") } }
            #expect(await happens { await peer.closed() })
            dripping.cancel()
        }
        #expect(portal.service.asked.isEmpty)
    }

    @Test(
        "invalid or oversized HTTP is rejected without a page",
        arguments: [
            "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nhost:\r\n\r\n", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
            "POST /en HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "GET / HTTP/1.0\r\nHost: a/b\r\n\r\n",
            "\u{16}\u{3}\u{1}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 20_000) + "\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 200) + "\r\n",
            "POST /en HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "POST /en HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\n bad\u{0}\r\n\r\n",
        ]
    )
    func broken(sent: String) async throws {
        try await Self.hasty().run { browser in
            let peer = try await RawClient(port: browser.port)
            await peer.send(sent)
            let answer = await peer.receive(until: "</html>")
            #expect(!answer.contains("200 OK"), "\(answer.prefix(200))")
            #expect(await happens { await peer.closed() })
        }
    }

    @Test("a client that expects an interim response gets it before it sends the body, unless it speaks HTTP/1.0")
    func interim() async throws {
        try await TestPortal().run { browser in
            let peer = try await RawClient(port: browser.port)
            // A line end is one character.
            let head = RawClient.head(byteCount: 4).dropLast() + "Expect: 100-Continue\r\n\r\n"
            await peer.send(String(head))
            #expect(await peer.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            await peer.send("code")
            #expect(await peer.receive(until: "</html>").hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            let long = try await RawClient(port: browser.port)
            await long.send(String(head.replacing("Length: 4", with: "Length: 2049")))
            let refusal = await long.receive(until: nil)
            #expect(refusal.hasPrefix("HTTP/1.1 413 ") && !refusal.contains(" 100 "), "\(refusal)")
            let old = try await RawClient(port: browser.port)
            await old.send(head.replacing("1.1", with: "1.0") + "code")
            #expect(await old.receive(until: nil).hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        }
    }

    @Test("an HTTP/1.0 request needs no Host field, and its connection is closed after the response")
    func old() async throws {
        try await TestPortal().run { browser in
            let peer = try await RawClient(port: browser.port)
            await peer.send("GET /livez HTTP/1.0\r\n\r\n")
            #expect(await peer.receive(until: nil).hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }

    @Test("shutdown waits for a response in progress and not for silent clients")
    func stop() async throws {
        let gate = Gate()
        let portal = try TestPortal(service: FakeRevocationService(gate: gate))
        let answered = Answered()
        try await portal.run { browser in
            let question = try await browser.check(FakeRevocationService.code)
            let port = browser.port
            let (peer, silent) = (try await RawClient(port: port), try await RawClient(port: port))
            let body = "seal=\(Browser.escaped(question.seal))&code=\(question.typed)&step=delete"
            await peer.send(RawClient.head(byteCount: body.utf8.count) + body)
            answered.task = Task { await peer.receive(until: "</html>") }
            #expect(await eventually { !portal.service.asked.isEmpty })
            // The end of this closure also stops the portal.
            Task {
                await silent.closed()
                gate.open()
            }
        }
        #expect(await answered.task?.value.contains("was deleted") == true)
    }

    private final class Answered: @unchecked Sendable {
        var task: Task<String, Never>?
    }
}
