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

/// Returns a ClientHello without its key shares, to which a server responds with a HelloRetryRequest (RFC 8446 §4.1.4).
private func withoutKeyShares(_ hello: [UInt8]) -> [UInt8] {
    func number(_ place: Int) -> Int { Int(hello[place]) << 8 | Int(hello[place + 1]) }
    // The record's header, the message's header, the version, the random value.
    var place = 5 + 4 + 2 + 32
    // The session id, the cipher suites, the compression methods.
    place += 1 + Int(hello[place])
    place += 2 + number(place)
    place += 1 + Int(hello[place])
    let extensions = place
    place += 2
    let keyShare = 51
    while number(place) != keyShare { place += 4 + number(place + 2) }
    let removed = number(place + 2) - 2
    var bytes = hello
    bytes.replaceSubrange(place + 2..<place + 4 + number(place + 2), with: [0, 2, 0, 0])
    for length in [3, 7, extensions] {
        let new = number(length) - removed
        (bytes[length], bytes[length + 1]) = (UInt8(new >> 8), UInt8(new & 0xFF))
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
            try handshake.server.writeInbound(ByteBuffer(bytes: withoutKeyShares(hello)))
            #expect(try (1..<300).contains(handshake.sent(by: handshake.server).count), "a HelloRetryRequest")
            second = hello
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
