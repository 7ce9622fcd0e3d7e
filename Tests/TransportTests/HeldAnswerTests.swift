import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing
import Vocabulary
import Wire

@testable import Transport

/// A connection without TLS and without a network, whose client sends a Hello first.
private struct Served {
    let channel = NIOAsyncTestingChannel()
    let connection: ServerConnection

    static let hello = Response(
        id: 1,
        result: .hello(
            ServerTerms(
                serverTime: TestCertificates.time,
                update: .ok,
                policy: .standard,
                features: Features(deletionCode: false, safeBiometricUnlock: false),
                solutionRevoked: false,
                limits: ServerTerms.Limits(
                    maxInFlight: 16,
                    sessionLifetime: .seconds(900),
                    tokenLifetime: .seconds(300)
                )
            )
        )
    )
    static let refusal = Response(id: 2, result: .refused(Refusal(.notAllowed)))

    init() async throws {
        let channel = self.channel
        let binding = try ChannelBinding(Array(repeating: 7, count: ChannelBindingKind.byteCount)).orThrow()
        self.connection = try await channel.eventLoop.submit {
            let frames = try FrameChannel(
                on: channel,
                peer: nil,
                limits: TransportLimits(),
                isSecure: false,
                onOpen: { _, _ in },
                onFailure: { _ in }
            )
            return ServerConnection(frames, channelBinding: binding, limits: TransportLimits())
        }.get()
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
    }

    /// Returns a connection that holds the answer to Hello, because another call has arrived with it.
    static func holdingHello() async throws -> Served {
        let served = try await Served()
        try await served.receive([.beginEnrollment, .reportWipe])
        _ = await served.connection.next()
        await served.connection.send(Self.hello)
        return served
    }

    /// Receives calls that arrive together.
    func receive(_ calls: [Call]) async throws {
        var bytes = ByteBuffer()
        for (place, call) in calls.enumerated() {
            Frame.append(Request(id: UInt64(place + 1), call: call).encoded(), to: &bytes)
        }
        try await self.channel.writeInbound(bytes)
    }

    /// Waits for the next write and returns its frames.
    func written() async throws -> [[UInt8]] {
        var decoder = FrameDecoder()
        decoder.receive(try await self.channel.waitForOutboundWrite(as: ByteBuffer.self))
        var frames: [[UInt8]] = []
        while let frame = try decoder.next() { frames.append(frame) }
        return frames
    }

    func end() async { _ = try? await self.channel.finish(acceptAlreadyClosed: true) }
}

@Suite("The answer to Hello")
struct HeldAnswerTests {
    @Test("a Hello without another call behind it is answered at once")
    func alone() async throws {
        let served = try await Served()
        try await served.receive([.beginEnrollment])
        _ = await served.connection.next()
        await served.connection.send(Served.hello)
        #expect(try await served.written() == [Served.hello.encoded()])
        await served.end()
    }

    @Test("Hello and the call that was sent with it are answered in order and in one write")
    func together() async throws {
        let served = try await Served.holdingHello()
        _ = await served.connection.next()
        // The second call takes several ticks of the event loop.
        await served.channel.testingEventLoop.run()
        #expect(try await served.channel.readOutbound(as: ByteBuffer.self) == nil)
        await served.connection.send(Served.refusal)
        #expect(try await served.written() == [Served.hello.encoded(), Served.refusal.encoded()])
        await served.end()
    }

    @Test("an answer to Hello that is held leaves when the server waits for another call")
    func unanswered() async throws {
        let served = try await Served.holdingHello()
        _ = await served.connection.next()
        let waiting = Task { await served.connection.next() }
        #expect(try await served.written() == [Served.hello.encoded()])
        served.connection.close()
        _ = await waiting.value
        await served.end()
    }

    @Test("an answer to Hello that is held leaves before the connection is closed")
    func closed() async throws {
        let served = try await Served.holdingHello()
        served.connection.close()
        #expect(try await served.written() == [Served.hello.encoded()])
        await served.end()
    }

    @Test("an answer to Hello that is held does not count as delivered")
    func undelivered() async throws {
        let certificates = try TestCertificates()
        let context = try certificates.clientContext()
        let delivered = Mutex<Bool?>(nil)
        let serve: @Sendable (ServerConnection) async -> Void = { connection in
            _ = await connection.next()
            await connection.send(Served.hello)
            _ = await connection.next()
            let isDelivered = await connection.hasDelivered()
            delivered.withLock { $0 = isDelivered }
            await connection.send(Served.refusal)
            _ = await connection.next()
        }
        try await withServer(certificates, serve: serve) { port, _, _ in
            let connection = try await connect(port, context)
            #expect(try await connection.call([.beginEnrollment, .reportWipe], timeout: .seconds(20)).count == 2)
            connection.close()
        }
        #expect(delivered.withLock(\.self) == false)
    }

    @Test("no other answer is held")
    func others() async throws {
        let served = try await Served()
        try await served.receive([.beginEnrollment, .reportWipe])
        _ = await served.connection.next()
        await served.connection.send(Served.refusal)
        #expect(try await served.written() == [Served.refusal.encoded()])
        await served.end()
    }
}
