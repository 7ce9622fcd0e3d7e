import NIOCore
import NIOEmbedded
import Testing

@testable import Transport

/// The two ends of a TLS connection, whose bytes the test passes on.
private struct Handshake {
    let server = EmbeddedChannel()
    let client = EmbeddedChannel()
    /// The server's pacer, which uses the time of the server's loop.
    let pacer: HandshakePacer

    init() throws {
        let certificates = try TestCertificates()
        let loop = self.server.embeddedEventLoop
        self.pacer = HandshakePacer(on: loop) { loop.now }
        let (serverTLS, clientTLS) = (try certificates.serverContext(), try certificates.clientContext())
        func add(_ connection: consuming TLSConnection, to channel: EmbeddedChannel, _ pacer: HandshakePacer?) throws {
            let loop = channel.eventLoop
            let timer = HandshakeTimer(deadline: .distantFuture, on: loop)
            let handler = TLSHandler(connection, on: loop, timer: timer, recordLimit: .hours(1), pacer: pacer)
            try channel.pipeline.syncOperations.addHandler(handler)
        }
        try add(serverTLS.makeConnection(), to: self.server, self.pacer)
        try add(clientTLS.makeConnection(), to: self.client, nil)
        for channel in [self.server, self.client] {
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }
    }

    /// Removes and returns the bytes that an end has sent.
    func sent(by channel: EmbeddedChannel) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { bytes += Array(buffer.readableBytesView) }
        return bytes
    }

    /// Returns the server's answer to bytes that arrive after another handshake, during the pacer's pause.
    func answer(to bytes: some Collection<UInt8>) throws -> [UInt8] {
        self.pacer.run { self.server.embeddedEventLoop.advanceTime(by: .milliseconds(3)) }
        try self.server.writeInbound(ByteBuffer(bytes: bytes))
        return try self.sent(by: self.server)
    }

    /// Returns the server's answer after the pause.
    func lateAnswer() throws -> [UInt8] {
        self.server.embeddedEventLoop.advanceTime(by: .milliseconds(3))
        return try self.sent(by: self.server)
    }

    func end() {
        for channel in [self.server, self.client] {
            channel.close(promise: nil)
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }
    }
}

/// Returns a ClientHello with at most this many of its key shares.
///
/// If there are none, a server responds with a HelloRetryRequest, and then requires exactly one (RFC 8446 §4.1.4).
private func limitingKeyShares(of hello: [UInt8], to count: Int) -> [UInt8] {
    let extensions = HelloExtensions(in: hello)
    guard let data = extensions.range(of: 51) else { return hello }
    let shares = data.lowerBound + 2
    var end = shares
    for _ in 0..<count where end < data.upperBound { end += 4 + hello.number(at: end + 2) }
    var bytes = hello
    bytes.removeSubrange(end..<data.upperBound)
    bytes.setNumber(end - shares, at: data.lowerBound)
    bytes.setNumber(end - data.lowerBound, at: data.lowerBound - 2)
    for length in [3, 7, extensions.lengthPlace] {
        bytes.setNumber(hello.number(at: length) - (data.upperBound - end), at: length)
    }
    return bytes
}

@Suite("The steps of a handshake and the queue")
struct HandshakeStepTests {
    @Test("a later step that makes the signature is queued like the first", arguments: [false, true])
    func signature(isSplit: Bool) throws {
        let handshake = try Handshake()
        let hello = try handshake.sent(by: handshake.client)
        let second: [UInt8]
        if isSplit {
            // Two records, of which the first contains one byte of the ClientHello.
            let rest = hello.count - 6
            try handshake.server.writeInbound(ByteBuffer(bytes: hello[..<3] + [0, 1] + hello[5..<6]))
            #expect(try handshake.sent(by: handshake.server).isEmpty)
            second = hello[..<3] + [UInt8(rest >> 8), UInt8(rest & 0xFF)] + hello[6...]
        } else {
            try handshake.server.writeInbound(ByteBuffer(bytes: limitingKeyShares(of: hello, to: 0)))
            #expect(try (1..<300).contains(handshake.sent(by: handshake.server).count), "a HelloRetryRequest")
            second = limitingKeyShares(of: hello, to: 1)
        }
        #expect(try handshake.answer(to: second).isEmpty)
        #expect(try handshake.lateAnswer().count > 300, "hello, certificate and signature")
        handshake.end()
    }

    @Test("the client's Finished, after which the server makes no signature, is not queued")
    func finished() throws {
        let handshake = try Handshake()
        try handshake.server.writeInbound(ByteBuffer(bytes: try handshake.sent(by: handshake.client)))
        try handshake.client.writeInbound(ByteBuffer(bytes: try handshake.sent(by: handshake.server)))
        // The last message of the server is a ticket.
        #expect(try !handshake.answer(to: try handshake.sent(by: handshake.client)).isEmpty)
        handshake.end()
    }
}
