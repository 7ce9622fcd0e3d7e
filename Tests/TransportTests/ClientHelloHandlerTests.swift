import NIOCore
import NIOEmbedded
import Testing

@testable import Transport

/// What an opening said, and what came through it.
private final class Witness: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var origins: [ProxyHeader.Origin] = []
    var failures: [ConnectionFailure] = []
    var opens = 0
    var passed: [UInt8] = []
    var takes = true

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.passed += Array(self.unwrapInboundIn(data).readableBytesView)
    }
}

/// An opening on a channel of its own.
private struct Opening {
    let channel = EmbeddedChannel()
    let witness = Witness()
    /// The handler's time; the loop's own stands unless it is moved.
    let pacer: HandshakePacer

    init(demandsHeader: Bool) throws {
        let (channel, witness) = (self.channel, self.witness)
        self.pacer = HandshakePacer(on: channel.eventLoop) { channel.embeddedEventLoop.now }
        let handler = ClientHelloHandler(
            demandsHeader: demandsHeader,
            deadline: channel.embeddedEventLoop.now + .seconds(10),
            pacer: self.pacer,
            steps: ClientHelloHandler.Steps(
                takeOrigin: {
                    witness.origins.append($0)
                    return witness.takes
                },
                open: {
                    witness.opens += 1
                    try channel.pipeline.syncOperations.addHandler(witness)
                },
                fail: { witness.failures.append($0) }
            )
        )
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func send(_ bytes: some Collection<UInt8>) throws {
        try self.channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    func end() {
        // An open channel and its handlers hold each other, so do a handler that waits for its turn and the pacer.
        self.channel.close(promise: nil)
        self.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        _ = try? self.channel.finish(acceptAlreadyClosed: true)
    }
}

/// The beginning of a client hello, as long as its record says.
private let hello: [UInt8] = [22, 3, 1, 0, 40, 1] + [UInt8](repeating: 5, count: 39)
private let header = ProxyHeaderBytes.header(0x21, ProxyHeaderBytes.ipv6 + ProxyHeaderBytes.extras)
private let origin = ProxyHeader.Origin.address(Array(ProxyHeaderBytes.ipv6.prefix(16)), port: 8080)

@Suite("How a connection begins")
struct ClientHelloHandlerTests {
    @Test("wherever header and first record are cut, TLS gets every byte behind the header, once")
    func splits() throws {
        let bytes = header + hello + [23, 3, 3]
        for cut in 0...bytes.count {
            let opening = try Opening(demandsHeader: true)
            try opening.send(bytes[..<cut])
            try opening.send(bytes[cut...])
            #expect(opening.witness.origins == [origin], "cut at \(cut)")
            #expect(opening.witness.opens == 1, "cut at \(cut)")
            #expect(opening.witness.passed == hello + [23, 3, 3], "cut at \(cut)")
            #expect(opening.witness.failures.isEmpty)
            opening.end()
        }
    }

    @Test("nothing is made for the connection before its first record is whole", arguments: [true, false])
    func bytewise(demandsHeader: Bool) throws {
        let opening = try Opening(demandsHeader: demandsHeader)
        for byte in (demandsHeader ? header : []) + hello.dropLast() {
            try opening.send([byte])
            #expect(opening.witness.opens == 0)
        }
        try opening.send(hello.suffix(1))
        #expect(opening.witness.opens == 1)
        #expect(opening.witness.passed == hello)
        opening.end()
    }

    @Test("a peer that owes no header and sends one ends its connection, which counts as a failure")
    func headerOfNoBalancer() throws {
        let opening = try Opening(demandsHeader: false)
        try opening.send(header + hello)
        #expect(opening.witness.failures == [.tls(.broken("not a TLS handshake"))])
        #expect(opening.witness.origins.isEmpty && opening.witness.opens == 0)
        #expect(!opening.channel.isActive)
        opening.end()
    }

    @Test(
        "a balancer that sends no good header ends its connection, which counts as a failure",
        arguments: ProxyHeaderTests.bad.indices
    )
    func noHeader(index: Int) throws {
        let opening = try Opening(demandsHeader: true)
        try opening.send(ProxyHeaderTests.bad[index].bytes + hello)
        #expect(opening.witness.failures == [.proxyHeader(ProxyHeaderTests.bad[index].fault)])
        #expect(opening.witness.opens == 0)
        #expect(!opening.channel.isActive)
        opening.end()
    }

    @Test("header and record have one time limit, however slowly they come")
    func tooSlow() throws {
        let opening = try Opening(demandsHeader: true)
        let bytes = header + hello
        for second in 0..<9 {
            opening.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            try opening.send([bytes[second]])
            #expect(opening.channel.isActive)
        }
        opening.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(opening.witness.failures == [.tls(.timedOut)])
        #expect(!opening.channel.isActive)
        opening.end()
    }

    @Test("a balancer that asks whether somebody is there is no failure; one that then begins and stops is")
    func healthCheck() throws {
        for (more, failures) in [([], []), ([22], [.tls(.endedEarly)])] as [([UInt8], [ConnectionFailure])] {
            let opening = try Opening(demandsHeader: true)
            try opening.send(ProxyHeaderBytes.header(0x20, 0, []) + more)
            #expect(opening.witness.origins == [.local])
            opening.end()
            #expect(opening.witness.failures == failures)
        }
    }

    @Test("a balancer's own connection may go on to TLS")
    func localGoesOn() throws {
        let opening = try Opening(demandsHeader: true)
        try opening.send(ProxyHeaderBytes.header(0x20, 0, []) + hello)
        #expect(opening.witness.passed == hello)
        opening.end()
    }

    @Test("a source that has too many connections is closed when the header names it")
    func refusedSource() throws {
        let opening = try Opening(demandsHeader: true)
        opening.witness.takes = false
        try opening.send(header + hello)
        #expect(opening.witness.opens == 0 && opening.witness.failures.isEmpty)
        #expect(!opening.channel.isActive)
        opening.end()
    }

    @Test("a connection that ends while its handshake waits for its turn is opened no more")
    func endedWhileWaiting() throws {
        let opening = try Opening(demandsHeader: false)
        // Somebody else's handshake, which takes a while.
        opening.pacer.run { opening.channel.embeddedEventLoop.advanceTime(by: .milliseconds(2)) }
        try opening.send(hello)
        #expect(opening.witness.opens == 0)
        opening.end()
        #expect(opening.witness.failures == [.tls(.endedEarly)])
        #expect(opening.witness.opens == 0)
    }

    @Test(
        "what no client hello begins with is refused with the first byte that says so",
        arguments: [
            ([21], 1), ([22, 2], 2), ([22, 3, 1, 0, 0], 5), ([22, 3, 1, 0x40, 1], 5), ([22, 3, 1, 0, 40, 2], 6),
            ([0x50, 0x52, 0x49], 1),
        ] as [([UInt8], Int)]
    )
    func notTLS(bytes: [UInt8], knownAfter: Int) {
        for count in 0..<knownAfter {
            #expect(ClientHelloRecord.check(ByteBuffer(bytes: bytes.prefix(count))) == .incomplete)
        }
        for count in knownAfter...bytes.count where count >= knownAfter {
            #expect(ClientHelloRecord.check(ByteBuffer(bytes: bytes.prefix(count))) == .notTLS)
        }
    }
}

@Suite("How much of an event loop's time goes into newcomers")
struct PacerTests {
    @Test("handshakes are done in order, and after each the loop rests for as long as it took")
    func handshakes() {
        let loop = EmbeddedEventLoop()
        let pacer = HandshakePacer(on: loop) { loop.now }
        var done: [(Int, NIODeadline)] = []
        let start = loop.now
        for number in 0..<4 {
            pacer.run {
                done.append((number, loop.now))
                // The work itself.
                loop.advanceTime(by: .milliseconds(3))
            }
        }
        #expect(done.map(\.0) == [0])
        for _ in 0..<60 { loop.advanceTime(by: .microseconds(500)) }
        #expect(done.map(\.0) == [0, 1, 2, 3])
        for (earlier, later) in zip(done, done.dropFirst()) { #expect(later.1 - earlier.1 >= .milliseconds(6)) }
        #expect(loop.now - start < .milliseconds(50))
        try? loop.syncShutdownGracefully()
    }

    @Test("where the loop was busy with other things, those that wait have more than one handshake in a turn")
    func longTurn() {
        let loop = EmbeddedEventLoop()
        var time = loop.now
        let pacer = HandshakePacer(on: loop) { time }
        var count = 0
        for _ in 0..<100 {
            pacer.run {
                count += 1
                time = time + .milliseconds(3)
            }
        }
        #expect(count == 1)
        // The loop did something else for 90 ms: half of that is left to handshakes, which then rest again.
        time = time + .milliseconds(90)
        loop.advanceTime(to: time)
        #expect(count == 16)
        time = time + .milliseconds(1)
        loop.advanceTime(to: time)
        #expect(count == 16)
        try? loop.syncShutdownGracefully()
    }

    @Test("a machine that was asleep during a handshake does not rest for a night")
    func longHandshake() {
        let loop = EmbeddedEventLoop()
        var time = loop.now
        let pacer = HandshakePacer(on: loop) { time }
        pacer.run { time = time + .hours(8) }
        var isDone = false
        pacer.run { isDone = true }
        #expect(!isDone)
        time = time + .milliseconds(5)
        pacer.run {}
        #expect(!isDone, "the one that waits has the first turn")
        loop.advanceTime(to: time)
        #expect(isDone)
        try? loop.syncShutdownGracefully()
    }

    @Test("a handshake's later steps wait for their turn as the first did", arguments: [false, true])
    func laterSteps(isSplit: Bool) throws {
        let certificates = try TestCertificates()
        let (server, client) = (EmbeddedChannel(), EmbeddedChannel())
        let loop = server.embeddedEventLoop
        let pacer = HandshakePacer(on: loop) { loop.now }
        let far = NIODeadline.distantFuture
        let (serverTLS, clientTLS) = (try certificates.serverContext(), try certificates.clientContext())
        try server.pipeline.syncOperations.addHandler(
            TLSHandler(serverTLS.makeConnection(), on: loop, deadline: far, recordLimit: .hours(1), pacer: pacer)
        )
        try client.pipeline.syncOperations.addHandler(
            TLSHandler(clientTLS.makeConnection(), on: client.eventLoop, deadline: far, recordLimit: .hours(1))
        )
        for channel in [server, client] {
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }
        func sent(by channel: EmbeddedChannel) throws -> [UInt8] {
            var bytes: [UInt8] = []
            while let buffer = try channel.readOutbound(as: ByteBuffer.self) {
                bytes += Array(buffer.readableBytesView)
            }
            return bytes
        }
        /// Sends, while another handshake has just had the turn: nothing is done before the loop has rested.
        func late(_ bytes: some Collection<UInt8>) throws -> [UInt8] {
            pacer.run { loop.advanceTime(by: .milliseconds(3)) }
            try server.writeInbound(ByteBuffer(bytes: bytes))
            #expect(try sent(by: server).isEmpty)
            loop.advanceTime(by: .milliseconds(3))
            return try sent(by: server)
        }
        let hello = try sent(by: client)
        let flight: [UInt8]
        if isSplit {
            // Two records, of which the first holds one byte of the hello.
            let rest = hello.count - 6
            try server.writeInbound(ByteBuffer(bytes: hello[..<3] + [0, 1] + hello[5..<6]))
            flight = try late(hello[..<3] + [UInt8(rest >> 8), UInt8(rest & 0xFF)] + hello[6...])
        } else {
            try server.writeInbound(ByteBuffer(bytes: hello))
            flight = try sent(by: server)
        }
        #expect(flight.count > 300, "hello, certificate and signature")
        try client.writeInbound(ByteBuffer(bytes: flight))
        // A ticket is what the server says last.
        #expect(try !late(try sent(by: client)).isEmpty)
        for channel in [server, client] {
            channel.close(promise: nil)
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }
    }

    @Test("after accepting, a listening socket rests before it accepts more, and its reads are not lost")
    func accepting() throws {
        let channel = EmbeddedChannel()
        let loop = channel.embeddedEventLoop
        let reads = ReadCount()
        try channel.pipeline.syncOperations.addHandlers([reads, AcceptPacer { loop.now }, Slow(loop)])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.read()
        let before = reads.count
        channel.pipeline.fireChannelRead(ByteBuffer())
        channel.pipeline.fireChannelReadComplete()
        channel.read()
        channel.read()
        #expect(reads.count == before, "it rests")
        loop.advanceTime(by: .milliseconds(2))
        #expect(reads.count == before)
        loop.advanceTime(by: .milliseconds(1))
        #expect(reads.count == before + 1)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    private final class ReadCount: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var count = 0

        func read(context: ChannelHandlerContext) {
            self.count += 1
            context.read()
        }
    }

    /// Takes a millisecond for each connection.
    private final class Slow: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        let loop: EmbeddedEventLoop

        init(_ loop: EmbeddedEventLoop) {
            self.loop = loop
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.loop.advanceTime(by: .milliseconds(1))
        }
    }
}
