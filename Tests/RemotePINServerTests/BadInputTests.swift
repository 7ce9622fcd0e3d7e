import Foundation
import HostSystem
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

/// A client that sends raw bytes to a server and collects the answers.
private struct RawExchange {
    let server: InProcessServer

    /// Sends the bytes and returns the server's answers until it closes the connection.
    func answers(to bytes: [UInt8]) async throws -> [CallResult] {
        let received = try await self.run(
            "exec openssl s_client -quiet -verify_quiet -tls1_3 -alpn remote-pin/1 -connect 127.0.0.1:$PORT",
            input: bytes
        )
        var rest = received[...]
        var results: [CallResult] = []
        while rest.count >= 4 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            results.append(try Response(decoding: Array(rest.prefix(length))).result)
            rest = rest.dropFirst(length)
        }
        return results
    }

    /// Connects without TLS, sends the bytes and waits until the connection is closed.
    func plain(_ bytes: [UInt8]) async throws {
        _ = try await self.run("exec 3<>/dev/tcp/127.0.0.1/$PORT; cat >&3; exec cat <&3", input: bytes)
    }

    private func run(_ script: String, input: [UInt8]) async throws -> [UInt8] {
        let name = "\(self.server.folder.path)/exchange-\(UInt64.random(in: .min ... .max))"
        try DurableFile.write(input, to: name + ".in")
        try DurableFile.write([], to: name + ".out")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", script]
        process.environment = ["PORT": "\(self.server.impatient.port)", "PATH": "/usr/bin:/bin"]
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: name + ".in"))
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: name + ".out"))
        process.standardError = FileHandle.nullDevice
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        return try DurableFile.read(name + ".out", atMost: 1 << 20)
    }
}

private func frame(_ bytes: [UInt8]) -> [UInt8] {
    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes
}

@Suite("Bad input")
struct BadInputTests {
    /// The cases: the sent bytes and the answers before the connection ends.
    ///
    /// An empty frame follows each case and ends the connections that are still open.
    private static let cases: [(name: String, bytes: [UInt8], answers: [Refusal.Reason])] = [
        ("an empty frame", [0, 0, 0, 0], [.malformed]),
        ("a frame that is too long", [0, 1, 0, 1], [.malformed]),
        ("a frame of four gigabytes", [0xFF, 0xFF, 0xFF, 0xFF], [.malformed]),
        ("a frame that is not a message", frame([0xFF, 0xFF, 0xFF]), [.malformed]),
        ("a message without a call", frame([0x08, 0x07]), [.unsupported, .malformed]),
        ("an unknown call", frame([0x08, 0x07, 0xA2, 0x06, 0x00]), [.unsupported, .malformed]),
        ("a call with a value outside its range", frame([0x08, 0x07, 0x12, 0x00]), [.malformed, .malformed]),
        (
            "two bad calls, each answered", frame([0x08, 1, 0x12, 0]) + frame([0x08, 2, 0x12, 0]),
            [.malformed, .malformed, .malformed]
        ),
        (
            "a long frame that is not Register",
            frame([0x08, 0x07, 0x3A, 0xC4, 0x26] + [UInt8](repeating: 0x78, count: 4932)), [.malformed]
        ),
        ("thousands of empty parts", frame((0..<2000).flatMap { _ in [UInt8(0x12), 0] }), [.malformed]),
    ]

    @Test("each input gets its error, and PIN checks on another connection are answered meanwhile", arguments: 0..<10)
    func bad(index: Int) async throws {
        let bad = Self.cases[index]
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            async let answers = RawExchange(server: server).answers(to: bad.bytes + frame([]))
            for _ in 0..<20 { #expect(try await session.check("135790") == wallet.unlockShare.asValid) }
            let reasons = try await answers.map { VerdictSummary($0) }
            #expect(reasons == bad.answers.map { .refused($0) }, "\(bad.name)")
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        }
    }

    @Test("random bytes change no attempt count and end no other connection")
    func random() async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        var options = InProcessServer.Options()
        options.limits.idleWithoutSession = .seconds(3)
        options.limits.frame = .milliseconds(200)
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            for _ in 0..<12 {
                let length = Int.random(in: 1...200, using: &generator)
                let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
                let framed = Bool.random(using: &generator) ? frame(bytes) : bytes
                async let answers = RawExchange(server: server).answers(to: framed)
                #expect(try await session.check("135790").isValid)
                _ = try await answers
            }
            #expect(try await server.pinState(wallet) == .open(attemptsLeft: 4, finalRound: false))
        }
    }

    @Test("once an enrollment has begun, a connection without a session may be idle for longer")
    func enrolling() async throws {
        var options = InProcessServer.Options()
        options.limits.idleWithoutSession = .seconds(2)
        try await InProcessServer.run(options) { server in
            let impatient = TestServer(
                host: "127.0.0.1",
                port: server.impatient.port,
                tls: server.endpoint.tls,
                authorityFolder: server.endpoint.authorityFolder,
                clock: server.clock
            )
            let enrolling = try await impatient.greet()
            #expect(await enrolling.answer(.beginEnrollment) == .other("beginEnrollment"))
            let idle = try await impatient.greet()
            await idle.closed()
            #expect(await enrolling.answer(.beginEnrollment) == .other("beginEnrollment"))
            enrolling.close()
        }
    }

    @Test("silent and stalled clients are disconnected while others are served")
    func slow() async throws {
        var options = InProcessServer.Options()
        options.limits.handshake = .milliseconds(300)
        options.limits.frame = .milliseconds(300)
        options.limits.idleWithoutSession = .milliseconds(300)
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let raw = RawExchange(server: server)
            async let silent: Void = raw.plain([])
            async let garbage: Void = raw.plain(Array("GET / HTTP/1.1\r\n\r\n".utf8))
            async let unfinished = raw.answers(to: [0, 0, 1, 0, 0x08])
            async let idle = raw.answers(to: [])
            for _ in 0..<50 { #expect(try await session.check("135790") == wallet.unlockShare.asValid) }
            try await silent
            try await garbage
            _ = try await unfinished
            #expect(try await idle.isEmpty)
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        }
    }
}
