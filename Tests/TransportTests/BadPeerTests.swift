import TestSupport
import Testing
import Vocabulary
import Wire

@testable import Transport

/// The default limits with one shortened, to keep a test short; no test asserts a duration.
private func short(_ limit: WritableKeyPath<TransportLimits, Duration>) -> TransportLimits {
    var limits = TransportLimits()
    limits[keyPath: limit] = .milliseconds(400)
    return limits
}

/// Returns true if the responses are a single `malformed`.
private func isMalformed(_ responses: [Response], id: UInt64 = 0) -> Bool {
    guard responses.count == 1, responses[0].id == id, case .refused(let refusal) = responses[0].result else {
        return false
    }
    return refusal.reason == .malformed
}

@Suite("Misbehaving clients, while another client is served", .serialized)
struct BadPeerTests {
    private let certificates: TestCertificates

    init() throws {
        self.certificates = try TestCertificates()
    }

    /// Runs `misbehave` against a server and calls it from another connection before and after.
    private func attack(
        limits: TransportLimits = TransportLimits(),
        failures: Failures = Failures(),
        serve: @escaping @Sendable (ServerConnection) async -> Void = echo,
        _ misbehave: @escaping @Sendable (_ port: Int, _ tls: TLSClientContext) async throws -> Void
    ) async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates, limits: limits, failures: failures, serve: serve) { port, _, _ in
            try await self.whileServed(at: port) { try await misbehave(port, context) }
        }
    }

    /// Does the same at a second listener, with limits that an honest client on a busy machine may exceed.
    private func attackShortLimits(
        _ limits: TransportLimits,
        failures: Failures = Failures(),
        _ misbehave: @escaping @Sendable (_ port: Int, _ tls: TLSClientContext) async throws -> Void
    ) async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates) { usual, _, _ in
            try await withServer(self.certificates, limits: limits, failures: failures) { port, _, _ in
                try await self.whileServed(at: usual) { try await misbehave(port, context) }
            }
        }
    }

    private func whileServed(at port: Int, _ misbehave: @escaping @Sendable () async throws -> Void) async throws {
        let context = try self.certificates.clientContext()
        async let end: Void = misbehave()
        let good = try await connect(port, context)
        #expect(try await token(good) == good.channelBinding.bytes)
        try await end
        let later = try await connect(port, context)
        #expect(try await token(later) == later.channelBinding.bytes)
        good.close()
        later.close()
    }

    @Test(
        "an invalid frame or request gets one error frame, then the connection is closed",
        arguments: [
            [0, 0, 0, 0], [0, 1, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 1, 0xFF], [0, 0, 0, 2, 0x12, 0x7F],
        ] as [[UInt8]]
    )
    func notAFrame(bytes: [UInt8]) async throws {
        try await self.attack { port, tls in
            let peer = try await RawPeer.connect(port, tls: tls)
            try await peer.send(bytes)
            #expect(isMalformed(try await peer.ended()))
        }
    }

    @Test("a value out of range gets an error with the id of its call, and the connection stays open")
    func outOfRange() async throws {
        try await self.attack { port, tls in
            let peer = try await RawPeer.connect(port, tls: tls)
            // Request { id: 7, instruct { counter: 0 } }
            try await peer.send([0, 0, 0, 4, 0x08, 0x07, 0x32, 0x00])
            try await peer.send(Request(id: 8, call: .reportWipe))
            try await peer.send([0, 0, 0, 0])
            let responses = try await peer.ended()
            #expect(responses.map(\.id) == [7, 8, 0])
            #expect(isMalformed(Array(responses.prefix(1)), id: 7))
        }
    }

    @Test("frames over 4 096 bytes are accepted for Register only")
    func longFrames() async throws {
        let signature = try #require(P256Signature(Array(repeating: 1, count: 64)))
        let proof = try #require(DeviceProof([1]))
        let body = [UInt8](repeating: 1, count: 60_000)
        let register = Register(token: [1], body: body, pinSignature: signature, deviceProof: proof)
        let instruct = Instruct(counter: 1, body: Array(body.prefix(4_096)), pinSignature: signature)
        try await self.attack { port, tls in
            let peer = try await RawPeer.connect(port, tls: tls)
            try await peer.send(Request(id: 1, call: .register(register)))
            try await peer.send(Request(id: 2, call: .instruct(instruct)))
            let responses = try await peer.ended()
            #expect(responses.map(\.id) == [1, 2])
            #expect(isMalformed(Array(responses.suffix(1)), id: 2))
        }
    }

    @Test(
        "bytes that are not TLS close the connection",
        arguments: [[0x16, 0x03, 0x01, 0xFF, 0xFF], Array("GET / HTTP/1.1\r\n\r\n".utf8)] as [[UInt8]]
    )
    func notTLS(bytes: [UInt8]) async throws {
        let failures = Failures()
        try await self.attack(failures: failures) { port, _ in
            let peer = try await RawPeer.connect(port, prefix: bytes)
            #expect(await failures.next() != .tls(.timedOut))
            peer.close()
        }
    }

    @Test("a client that sends nothing is disconnected")
    func silent() async throws {
        let failures = Failures()
        try await self.attackShortLimits(short(\.handshake), failures: failures) { port, _ in
            let peer = try await RawPeer.connect(port)
            #expect(await failures.next() == .tls(.timedOut))
            _ = try await peer.ended()
        }
    }

    @Test("a client that sends nothing after the handshake is disconnected")
    func silentAfterHandshake() async throws {
        try await self.attackShortLimits(short(\.idleWithoutSession)) { port, tls in
            let peer = try await RawPeer.connect(port, tls: tls)
            #expect(try await peer.ended().isEmpty)
        }
    }

    @Test("a client that never completes a frame is disconnected")
    func endlessFrame() async throws {
        try await self.attackShortLimits(short(\.frame)) { port, tls in
            let peer = try await RawPeer.connect(port, tls: tls)
            try await peer.send([0, 0, 0, 10, 0x08])
            #expect(try await peer.ended().isEmpty)
        }
    }

    @Test("a client that never completes a TLS record is disconnected")
    func endlessRecord() async throws {
        let failures = Failures()
        try await self.attackShortLimits(short(\.frame), failures: failures) { port, tls in
            let peer = try await RawPeer.connect(port, tls: tls)
            // The header of a record with 64 bytes of application data, and one byte of the content.
            try await peer.sendBeneathTLS([23, 3, 3, 0, 64, 1])
            #expect(await failures.next() == .tls(.timedOut))
            #expect(try await peer.ended().isEmpty)
        }
    }

    @Test("bytes inserted between an honest client's records close the connection")
    func tampered() async throws {
        let failures = Failures()
        try await self.attack(failures: failures) { port, tls in
            let peer = try await RawPeer.connect(port, tls: tls)
            try await peer.sendBeneathTLS([23, 3, 3, 0, 32] + Array(repeating: 1, count: 32))
            #expect(await failures.next() == .tls(.broken("decryption failed or bad record mac")))
            #expect(try await peer.ended().isEmpty)
        }
    }

    @Test("a client that sends and never reads is disconnected, and the server stops reading from it")
    func neverReads() async throws {
        // Only the limit under test is short, since the other client may be slow on a busy machine.
        let limits = short(\.frame)
        let served = AsyncStream<Int>.makeStream()
        let long = Refusal(.attestationRejected(String(repeating: "x", count: 60_000)))
        try await self.attack(
            limits: limits,
            serve: { connection in
                var count = 0
                while case .request(let request) = await connection.next() {
                    count += 1
                    let isLong = if case .reportWipe = request.call { true } else { false }
                    let response =
                        isLong ? Response(id: request.id, result: .refused(long)) : answer(to: request, on: connection)
                    guard await connection.send(response) else { break }
                }
                if count > 1 { served.continuation.yield(count) }
            }
        ) { port, tls in
            let peer = try await RawPeer.connect(port, tls: tls, reads: false)
            var buffer: [UInt8] = []
            for id in 1...5000 {
                let request = Request(id: UInt64(id), call: .reportWipe).encoded()
                buffer += [0, 0, 0, UInt8(request.count)] + request
            }
            peer.push(buffer)
            var counts = served.stream.makeAsyncIterator()
            let count = try #require(await counts.next(isolation: nil))
            #expect(count < 5000)
            peer.close()
        }
    }

    @Test("no answer arrives after an abort, not even one sent before")
    func abort() async throws {
        let aborted = AsyncStream<Void>.makeStream()
        try await self.attack(serve: { connection in
            while case .request(let request) = await connection.next() {
                guard case .reportWipe = request.call else {
                    await connection.send(answer(to: request, on: connection))
                    continue
                }
                connection.abort()
                #expect(await !connection.send(Response(id: request.id, result: .reportWipe)))
                await connection.closed()
                aborted.continuation.yield()
            }
        }) { port, tls in
            let peer = try await RawPeer.connect(port, tls: tls)
            try await peer.send(Request(id: 1, call: .reportWipe))
            #expect(try await peer.ended().isEmpty)
            var ends = aborted.stream.makeAsyncIterator()
            await ends.next(isolation: nil)
        }
    }

    @Test("too many held long frames displace the oldest", .timeLimit(.minutes(1)), arguments: [0, 4_097])
    func longFrames(arrived: Int) async throws {
        var limits = TransportLimits()
        limits.longFrames = 2
        // Only its displacement ends a connection.
        (limits.frame, limits.idleWithoutSession) = (.seconds(3600), .seconds(3600))
        let (refusals, source) = AsyncStream.makeStream(of: RefusedConnections.Reason.self)
        let failures = Failures { if case .refused(let reason) = $0 { source.yield(reason) } }
        let context = try self.certificates.clientContext()
        // The server takes no frame, so that a complete frame is held too.
        try await withServer(self.certificates, limits: limits, failures: failures, serve: { await $0.closed() }) {
            port,
            _,
            _ in
            let frame: [UInt8] = [0, 0, 0x10, 1] + [UInt8](repeating: 7, count: arrived)
            try await withThrowingTaskGroup(of: Void.self) { ends in
                for _ in 0..<3 {
                    let peer = try await RawPeer.connect(port, tls: context)
                    try await peer.send(frame)
                    ends.addTask {
                        _ = try await withTaskCancellationHandler(operation: peer.ended, onCancel: peer.close)
                    }
                }
                var reasons = refusals.makeAsyncIterator()
                #expect(await reasons.next(isolation: nil) == .longFrames)
                try await ends.next()
                ends.cancelAll()
            }
        }
    }

    @Test("connections beyond the limit of a source are closed, those within it are served")
    func tooMany() async throws {
        var limits = TransportLimits()
        limits.connectionsPerSource = 2
        limits.connections = 2
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates, limits: limits) { port, _, _ in
            let first = try await connect(port, context)
            let second = try await connect(port, context)
            await #expect(throws: ConnectError.self) { try await connect(port, context) }
            #expect(try await token(first) == first.channelBinding.bytes)
            #expect(try await token(second) == second.channelBinding.bytes)
            second.close()
            first.close()
        }
    }

    @Test("in a full table a new connection displaces one without a session and none with one")
    func fullTable() async throws {
        var limits = TransportLimits()
        limits.connections = 3
        let (reasons, source) = AsyncStream.makeStream(of: RefusedConnections.Reason.self)
        let failures = Failures { if case .refused(let reason) = $0 { source.yield(reason) } }
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates, limits: limits, failures: failures, serve: sessions) { port, _, _ in
            var refused = reasons.makeAsyncIterator()
            let first = try await connect(port, context)
            #expect(await first.answer(.reportWipe) == .other("reportWipe"))
            let (second, third) = (try await connect(port, context), try await connect(port, context))
            let fourth = try await connect(port, context)
            #expect(await refused.next(isolation: nil) == .withoutSession)
            await second.closed()
            for connection in [third, fourth] {
                #expect(await connection.answer(.reportWipe) == .other("reportWipe"))
            }
            await #expect(throws: ConnectError.self) { try await connect(port, context) }
            #expect(await refused.next(isolation: nil) == .connections)
            // The end of a session makes its connection displaceable again.
            _ = try await token(first)
            let fifth = try await connect(port, context)
            #expect(await refused.next(isolation: nil) == .withoutSession)
            await first.closed()
            for connection in [third, fourth, fifth] {
                #expect(try await token(connection) == connection.channelBinding.bytes)
                connection.close()
            }
        }
    }
}

/// Answers as ``echo(_:)`` does; ReportWipe opens a session and BeginEnrollment ends it.
@Sendable private func sessions(_ connection: ServerConnection) async {
    while case .request(let request) = await connection.next() {
        if case .reportWipe = request.call {
            connection.sessionOpened()
            await connection.send(Response(id: request.id, result: .reportWipe))
        } else {
            connection.allowDisplacement()
            await connection.send(answer(to: request, on: connection))
        }
    }
}
