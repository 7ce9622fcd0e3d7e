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
        "whoever sends nothing, half a head or half a body is hung up on",
        arguments: [
            "", "GET /en HTTP/1.1\r\nHost: local",
            "POST /en HTTP/1.1\r\nHost: localhost\r\nX: " + RawVisitor.head(byteCount: 1),
            RawVisitor.head(byteCount: 100) + "code=", RawVisitor.head(byteCount: 5_000_000) + "code=",
            "GET /en HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx",
        ]
    )
    func halves(sent: String) async throws {
        try await Self.hasty().run { visitor in
            let peer = try await RawVisitor(port: visitor.port)
            await peer.send(sent)
            #expect(await happens { await peer.closed() })
        }
    }

    @Test(
        "a body that trickles is no idle connection and is ended all the same, whatever it is sent for",
        arguments: ["POST", "GET", "PUT", "DELETE", "BREW"]
    )
    func trickle(method: String) async throws {
        let portal = try Self.hasty()
        try await portal.run { visitor in
            let peer = try await RawVisitor(port: visitor.port)
            await peer.send(RawVisitor.head(method, byteCount: 1_000_000))
            let dripping = Task { while !Task.isCancelled { await peer.send("a") } }
            #expect(await happens { await peer.closed() })
            dripping.cancel()
        }
        #expect(portal.desk.asked.isEmpty)
    }

    @Test(
        "what is no HTTP, or too much of it, is refused without an answer from the page",
        arguments: [
            "\u{16}\u{3}\u{1}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 20_000) + "\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 200) + "\r\n",
            "POST /en HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "POST /en HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\n bad\u{0}\r\n\r\n",
        ]
    )
    func broken(sent: String) async throws {
        try await Self.hasty().run { visitor in
            let peer = try await RawVisitor(port: visitor.port)
            await peer.send(sent)
            let answer = await peer.receive(until: "</html>")
            #expect(!answer.contains("200 OK"), "\(answer.prefix(200))")
            #expect(await happens { await peer.closed() })
        }
    }

    @Test("a stop waits for the answer that is under way, and for nobody who is silent")
    func stop() async throws {
        let gate = Gate()
        let portal = try TestPortal(desk: TestDesk(gate: gate))
        let answered = Answered()
        try await portal.run { visitor in
            let question = try await visitor.check(TestDesk.code)
            let port = visitor.port
            let (peer, silent) = (try await RawVisitor(port: port), try await RawVisitor(port: port))
            let body = "seal=\(Visitor.escaped(question.seal))&code=\(question.typed)&step=delete"
            await peer.send(RawVisitor.head(byteCount: body.utf8.count) + body)
            answered.task = Task { await peer.receive(until: "</html>") }
            #expect(await eventually { !portal.desk.asked.isEmpty })
            // What ends this closure also tells the portal to stop.
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
