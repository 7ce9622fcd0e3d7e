import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MetricsEndpoint

/// A listener for one test.
private final class Listening: Sendable {
    let readiness = Readiness()
    let reported = Reported()
    let listener: ObservationListener

    /// Limits that no test reaches on a busy machine.
    static var patient: ObservationListener.Limits {
        var limits = ObservationListener.Limits()
        limits.connection = .seconds(300)
        return limits
    }

    init(_ limits: ObservationListener.Limits, metrics: String) async throws {
        let (readiness, reported) = (self.readiness, self.reported)
        self.listener = try await ObservationListener.bind(
            host: "127.0.0.1",
            port: 0,
            limits: limits,
            answers: ObservationSources(
                metrics: { metrics },
                failures: { reported.failures.withLock { $0 } },
                readiness: { readiness.state }
            )
        )
    }

    final class Reported: Sendable {
        let failures = Mutex<[String]>([])
    }

    /// Sends these bytes and returns the whole response, up to the end of the connection.
    func answer(to request: String) async throws -> String {
        let client = try await RawClient(port: self.listener.port)
        await client.send(request)
        return await client.receive()
    }

    func get(_ path: String, method: String = "GET") async throws -> String {
        try await self.answer(to: "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }

    static func run(
        _ limits: ObservationListener.Limits = Listening.patient,
        metrics: String = "m 1\n",
        _ body: (Listening) async throws -> Void
    ) async throws {
        let listening = try await Listening(limits, metrics: metrics)
        do {
            try await body(listening)
        } catch {
            await listening.listener.close()
            throw error
        }
        await listening.listener.close()
    }
}

@Suite("Responses of the observation listener")
struct ListenerTests {
    @Test("GET returns metrics, liveness and readiness, and HEAD only their headers")
    func answers() async throws {
        try await Listening.run { listening in
            let metrics = try await listening.get("/metrics?name=x")
            #expect(metrics.hasPrefix("HTTP/1.1 200 OK\r\n") && metrics.hasSuffix("\r\n\r\nm 1\n"))
            #expect(metrics.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
            let head = try await listening.get("/metrics", method: "HEAD")
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.contains("Content-Length: 4\r\n"))
            #expect(head.hasSuffix("\r\n\r\n"))
            #expect(try await listening.get("/livez").hasSuffix("\r\n\r\nok\n"))
            listening.reported.failures.withLock { $0 = ["store"] }
            let dead = try await listening.get("/livez")
            #expect(dead.hasPrefix("HTTP/1.1 503 ") && dead.hasSuffix("no answer: store\n"))
        }
    }

    @Test("a server is ready only between start and stop, and alive all the time")
    func readiness() async throws {
        try await Listening.run { listening in
            #expect(try await listening.get("/readyz").contains("503 Service Unavailable\r\n"))
            listening.readiness.begin()
            #expect(try await listening.get("/readyz").hasPrefix("HTTP/1.1 200 OK\r\n"))
            listening.readiness.drop()
            let stopping = try await listening.get("/readyz")
            #expect(stopping.hasPrefix("HTTP/1.1 503 ") && stopping.hasSuffix("stopping\n"))
            #expect(try await listening.get("/livez").hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }

    @Test(
        "other paths and methods are rejected",
        arguments: [
            ("GET", "/", 404), ("GET", "/metrics/", 404), ("GET", "/../metrics", 404), ("GET", "http://a/metrics", 404),
            ("GET", "/%6detrics", 404), ("GET", "*", 404), ("POST", "/metrics", 405), ("PUT", "/livez", 405),
            ("DELETE", "/readyz", 405), ("OPTIONS", "/metrics", 405), ("TRACE", "/metrics", 405), ("POST", "/", 404),
        ]
    )
    func others(method: String, path: String, status: Int) async throws {
        try await Listening.run { listening in
            let answer = try await listening.get(path, method: method)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(answer.contains("Allow: GET, HEAD\r\n") == (status == 405))
            #expect(!answer.contains("m 1"))
        }
    }

    @Test("a probe that speaks HTTP/1.0 needs no Host field")
    func old() async throws {
        try await Listening.run { listening in
            let answer = try await listening.answer(to: "GET /livez HTTP/1.0\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }

    @Test("an address in use is reported")
    func inUse() async throws {
        try await Listening.run { listening in
            let answers = ObservationSources(metrics: { "" }, failures: { [] }, readiness: { .ready })
            await #expect(throws: ObservationListenError.self) {
                _ = try await ObservationListener.bind(
                    host: "127.0.0.1",
                    port: listening.listener.port,
                    answers: answers
                )
            }
        }
    }
}

@Suite("Attacks on the observation listener")
struct ListenerAttackTests {
    private static var hasty: ObservationListener.Limits {
        var limits = ObservationListener.Limits()
        limits.connection = .milliseconds(300)
        return limits
    }

    @Test(
        "a client that sends nothing, half a request or single bytes is disconnected",
        arguments: ["", "GET /metrics HTTP/1.1\r\nHost: a", "GET /metrics HTTP/1.1\r\nX: "]
    )
    func slow(sent: String) async throws {
        try await Listening.run(Self.hasty) { listening in
            let peer = try await RawClient(port: listening.listener.port)
            await peer.send(sent)
            let dripping = Task { while !Task.isCancelled { await peer.send(sent.isEmpty ? "" : "a") } }
            #expect(await happens { await peer.closed() })
            dripping.cancel()
        }
    }

    @Test("a client that never reads its response is disconnected")
    func unread() async throws {
        let long = String(repeating: "m 1\n", count: 8 << 20)
        try await Listening.run(Self.hasty, metrics: long) { listening in
            // Many clients, so that unread responses would show in the server's memory.
            let peers = try await withThrowingTaskGroup(of: SilentReader.self) { group in
                for _ in 0..<4 { group.addTask { try await SilentReader(port: listening.listener.port) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for peer in peers { try await peer.isReset() }
        }
    }

    @Test("an oversized request is rejected before it is complete, whichever part is too long")
    func long() async throws {
        let (line, many) = (String(repeating: "x", count: 20_000), String(repeating: "X: y\r\n", count: 4_000))
        for request in [
            "GET /metrics?\(line) HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /metrics HTTP/1.1\r\nHost: a\r\nX: \(line)\r\n\r\n",
            "GET /metrics HTTP/1.1\r\nHost: a\r\n\(many)\r\n", line,
        ] {
            try await Listening.run { listening in
                let answer = try await listening.answer(to: request)
                #expect(!answer.contains("200 OK"))
                #expect(answer.isEmpty || answer.contains(" 431 ") || answer.contains(" 400 "), "\(answer.prefix(99))")
                // Other clients are still served.
                #expect(try await listening.get("/livez").contains("200 OK"))
            }
        }
    }

    @Test("only the first of pipelined requests is answered, and bodies are ignored")
    func pipelined() async throws {
        let request = "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"
        try await Listening.run { listening in
            let answer = try await listening.answer(to: String(repeating: request, count: 50))
            #expect(answer.components(separatedBy: "HTTP/1.1 ").count <= 2)
            #expect(answer.isEmpty || answer.contains("Connection: close\r\n"))
            let smuggled = "GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: \(request.utf8.count)\r\n\r\n" + request
            #expect(try await listening.answer(to: smuggled).components(separatedBy: "HTTP/1.1 ").count <= 2)
        }
    }

    @Test(
        "a request is answered regardless of the data after it",
        arguments: ["\u{0}", "\r\n\r\n\u{0}", "GET\r\n\r\n"]
    )
    func followed(sent: String) async throws {
        try await Listening.run { listening in
            for path in ["/livez", "/readyz", "/metrics"] {
                let answer = try await listening.answer(to: "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" + sent)
                #expect(answer.hasPrefix("HTTP/1.1 \(path == "/readyz" ? 503 : 200) "), "\(path)")
            }
        }
    }

    @Test(
        "malformed HTTP is rejected",
        arguments: [
            "\u{16}\u{3}\u{1}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET\r\n\r\n", "\r\n\r\n\r\n\u{0}\r\n\r\n",
            "GET /metrics HTTP/1.1\r\n\r\n", "GET /metrics HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET /metrics HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n",
            "GET /metrics HTTP/1.1\r\nHost: a/b\r\n\r\n", "GET /metrics HTTP/1.0\r\nHost: a:b\r\n\r\n",
            "GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        ]
    )
    func broken(sent: String) async throws {
        try await Listening.run(Self.hasty) { listening in
            let answer = try await listening.answer(to: sent)
            #expect(!answer.contains("200 OK"))
        }
    }

    @Test("a probe is answered while an attacker holds the maximum number of connections")
    func crowd() async throws {
        var limits = ObservationListener.Limits()
        (limits.connections, limits.connection) = (8, .seconds(3600))
        try await Listening.run(limits) { listening in
            var crowd: [RawClient] = []
            for _ in 0..<40 {
                let peer = try await RawClient(port: listening.listener.port)
                await peer.send("GET /metrics HTTP/1.1\r\nX: ")
                crowd.append(peer)
            }
            #expect(try await listening.get("/livez").contains("200 OK"))
            // The oldest connections were closed to stay within the limit.
            let oldest = Array(crowd.prefix(32))
            for peer in oldest { #expect(await happens { await peer.closed() }) }
        }
    }
}
