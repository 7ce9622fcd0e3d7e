import NIOCore
import NIOEmbedded
import Testing

@testable import Transport

/// Records the callbacks of a handler and the bytes that it passed on.
private final class Recorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var origins: [ProxyHeader.Origin] = []
    var failures: [ConnectionFailure] = []
    var opens = 0
    var passed: [UInt8] = []
    var permitsOrigin = true

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.passed += Array(self.unwrapInboundIn(data).readableBytesView)
    }
}

/// A handler on an embedded channel.
private struct Opening {
    let channel = EmbeddedChannel()
    let recorder = Recorder()
    /// Uses the time of the embedded loop, which only the test advances.
    let pacer: HandshakePacer

    init(demandsHeader: Bool) throws {
        let (channel, recorder) = (self.channel, self.recorder)
        self.pacer = HandshakePacer(on: channel.eventLoop) { channel.embeddedEventLoop.now }
        let handler = ClientHelloHandler(
            demandsHeader: demandsHeader,
            timer: HandshakeTimer(deadline: channel.embeddedEventLoop.now + .seconds(10), on: channel.eventLoop),
            pacer: self.pacer,
            steps: ClientHelloHandler.Steps(
                takeOrigin: {
                    recorder.origins.append($0)
                    return recorder.permitsOrigin
                },
                open: { timer in
                    timer.cancel()
                    recorder.opens += 1
                    try channel.pipeline.syncOperations.addHandler(recorder)
                },
                fail: { recorder.failures.append($0) }
            )
        )
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func send(_ bytes: some Collection<UInt8>) throws {
        try self.channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    func end() {
        // An open channel and its handlers hold each other, as do a queued handler and the pacer.
        self.channel.close(promise: nil)
        self.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        _ = try? self.channel.finish(acceptAlreadyClosed: true)
    }
}

/// The beginning of a ClientHello with the length that its record states.
private let hello: [UInt8] = [22, 3, 1, 0, 40, 1] + [UInt8](repeating: 5, count: 39)
private let header = ProxyHeaderBytes.header(0x21, ProxyHeaderBytes.ipv6 + ProxyHeaderBytes.extras)
private let origin = ProxyHeader.Origin.address(Array(ProxyHeaderBytes.ipv6.prefix(16)), port: 8080)

@Suite("The beginning of a connection: header and ClientHello")
struct ClientHelloHandlerTests {
    @Test("wherever header and first record are split, TLS gets every byte after the header, once")
    func splits() throws {
        let bytes = header + hello + [23, 3, 3]
        for cut in 0...bytes.count {
            let opening = try Opening(demandsHeader: true)
            try opening.send(bytes[..<cut])
            try opening.send(bytes[cut...])
            #expect(opening.recorder.origins == [origin], "cut at \(cut)")
            #expect(opening.recorder.opens == 1, "cut at \(cut)")
            #expect(opening.recorder.passed == hello + [23, 3, 3], "cut at \(cut)")
            #expect(opening.recorder.failures.isEmpty)
            opening.end()
        }
    }

    @Test("no handler is added before the first record is complete", arguments: [true, false])
    func bytewise(demandsHeader: Bool) throws {
        let opening = try Opening(demandsHeader: demandsHeader)
        for byte in (demandsHeader ? header : []) + hello.dropLast() {
            try opening.send([byte])
            #expect(opening.recorder.opens == 0)
        }
        try opening.send(hello.suffix(1))
        #expect(opening.recorder.opens == 1)
        #expect(opening.recorder.passed == hello)
        opening.end()
    }

    @Test("a header from a peer that is not a load balancer closes the connection and counts as a failure")
    func unexpectedHeader() throws {
        let opening = try Opening(demandsHeader: false)
        try opening.send(header + hello)
        #expect(opening.recorder.failures == [.tls(.broken("not a TLS handshake"))])
        #expect(opening.recorder.origins.isEmpty && opening.recorder.opens == 0)
        #expect(!opening.channel.isActive)
        opening.end()
    }

    @Test(
        "an invalid header of a load balancer closes the connection and counts as a failure",
        arguments: ProxyHeaderTests.bad.indices
    )
    func invalidHeader(index: Int) throws {
        let opening = try Opening(demandsHeader: true)
        try opening.send(ProxyHeaderTests.bad[index].bytes + hello)
        #expect(opening.recorder.failures == [.proxyHeader(ProxyHeaderTests.bad[index].fault)])
        #expect(opening.recorder.opens == 0)
        #expect(!opening.channel.isActive)
        opening.end()
    }

    @Test("header and record share one timeout, however slowly they arrive")
    func tooSlow() throws {
        let opening = try Opening(demandsHeader: true)
        let bytes = header + hello
        for second in 0..<9 {
            opening.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            try opening.send([bytes[second]])
            #expect(opening.channel.isActive)
        }
        opening.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(opening.recorder.failures == [.tls(.timedOut)])
        #expect(!opening.channel.isActive)
        opening.end()
    }

    @Test("a health check of a load balancer is not a failure, but one that begins TLS and stops is")
    func healthCheck() throws {
        for (more, failures) in [([], []), ([22], [.tls(.endedEarly)])] as [([UInt8], [ConnectionFailure])] {
            let opening = try Opening(demandsHeader: true)
            try opening.send(ProxyHeaderBytes.header(0x20, 0, []) + more)
            #expect(opening.recorder.origins == [.local])
            opening.end()
            #expect(opening.recorder.failures == failures)
        }
    }

    @Test("a load balancer's own connection may continue with TLS")
    func localContinues() throws {
        let opening = try Opening(demandsHeader: true)
        try opening.send(ProxyHeaderBytes.header(0x20, 0, []) + hello)
        #expect(opening.recorder.passed == hello)
        opening.end()
    }

    @Test("a connection from a source with too many connections is closed when the header names the source")
    func refusedSource() throws {
        let opening = try Opening(demandsHeader: true)
        opening.recorder.permitsOrigin = false
        try opening.send(header + hello)
        #expect(opening.recorder.opens == 0 && opening.recorder.failures.isEmpty)
        #expect(!opening.channel.isActive)
        opening.end()
    }

    @Test("a connection that ends while its handshake is queued is not opened")
    func endedWhileQueued() throws {
        let opening = try Opening(demandsHeader: false)
        // The handshake of another connection, which takes a while.
        opening.pacer.run { opening.channel.embeddedEventLoop.advanceTime(by: .milliseconds(2)) }
        try opening.send(hello)
        #expect(opening.recorder.opens == 0)
        opening.end()
        #expect(opening.recorder.failures == [.tls(.endedEarly)])
        #expect(opening.recorder.opens == 0)
    }

    @Test(
        "bytes that cannot begin a ClientHello are rejected at the first invalid byte",
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

@Suite("The share of an event loop's time for new connections")
struct PacerTests {
    @Test("handshakes run in order; after each the loop looks for other work, and without any it continues")
    func handshakes() {
        let loop = EmbeddedEventLoop()
        var time = loop.now
        let start = time
        let pacer = HandshakePacer(on: loop) { time }
        var done: [Int] = []
        for number in 0..<4 {
            pacer.run {
                done.append(number)
                time = time + .milliseconds(3)
            }
        }
        for count in 1...3 {
            loop.advanceTime(to: time)
            #expect(done.count == count, "other work comes first")
            time = time + .microseconds(20)
            loop.advanceTime(to: time)
        }
        #expect(done == [0, 1, 2, 3])
        #expect(time - start == .microseconds(4 * 3000 + 3 * 20))
        try? loop.syncShutdownGracefully()
    }

    @Test("after the loop was busy with other work, a batch has more than one handshake")
    func longBatch() {
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
        // After 90 ms of other work, the batch takes half of that time.
        time = time + .milliseconds(90)
        loop.advanceTime(to: time)
        #expect(count == 16)
        // After little other work, it is a single handshake.
        time = time + .milliseconds(1)
        loop.advanceTime(to: time)
        #expect(count == 17)
        try? loop.syncShutdownGracefully()
    }

    @Test("a handshake during which the machine was suspended causes no long pause")
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
        #expect(!isDone, "the queued handshake is first")
        loop.advanceTime(to: time)
        #expect(isDone)
        try? loop.syncShutdownGracefully()
    }

    @Test("a listening socket pauses between accepts, and no read is lost")
    func accepting() throws {
        let channel = EmbeddedChannel()
        let loop = channel.embeddedEventLoop
        let reads = ReadCount()
        try channel.pipeline.syncOperations.addHandlers([reads, AcceptPacer { loop.now }, Slow(loop, .milliseconds(1))])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.read()
        let before = reads.count
        channel.pipeline.fireChannelRead(ByteBuffer())
        channel.pipeline.fireChannelReadComplete()
        channel.read()
        channel.read()
        #expect(reads.count == before, "a pause")
        loop.advanceTime(by: .milliseconds(2))
        #expect(reads.count == before)
        loop.advanceTime(by: .milliseconds(1))
        #expect(reads.count == before + 1)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("short pauses between accepts are combined, and none is forgotten")
    func combinedPauses() throws {
        let channel = EmbeddedChannel()
        let loop = channel.embeddedEventLoop
        let reads = ReadCount()
        let slow = Slow(loop, .microseconds(100))
        try channel.pipeline.syncOperations.addHandlers([reads, AcceptPacer { loop.now }, slow])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        func accept() -> Int {
            let before = reads.count
            channel.pipeline.fireChannelRead(ByteBuffer())
            channel.pipeline.fireChannelReadComplete()
            channel.read()
            return reads.count - before
        }
        // Each requires 300 µs, and the next accept takes 100 µs of them.
        #expect((0..<4).map { _ in accept() } == [1, 1, 1, 1])
        #expect(accept() == 0, "1.1 ms")
        let before = reads.count
        loop.advanceTime(by: .microseconds(1099))
        #expect(reads.count == before)
        loop.advanceTime(by: .microseconds(1))
        #expect(reads.count == before + 1)
        loop.advanceTime(by: .milliseconds(1))
        #expect(accept() == 1, "idle time is no credit, but nothing is due any more")
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

    /// Takes some time for each connection.
    private final class Slow: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        let loop: EmbeddedEventLoop
        let time: TimeAmount

        init(_ loop: EmbeddedEventLoop, _ time: TimeAmount) {
            self.loop = loop
            self.time = time
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.loop.advanceTime(by: self.time)
        }
    }
}
