import NIOCore
import NIOPosix
import Synchronization
import Wire

@testable import Transport

/// A client that sends arbitrary bytes, with or without TLS, and collects the answers.
final class RawPeer: Sendable {
    private let channel: any Channel
    private let collector: Collector

    private init(channel: any Channel, collector: Collector) {
        self.channel = channel
        self.collector = collector
    }

    /// - Parameters:
    ///   - prefix: Bytes to send first, before TLS.
    ///   - reads: False for a client that never reads.
    static func connect(
        _ port: Int,
        prefix: [UInt8] = [],
        tls: TLSClientContext? = nil,
        reads: Bool = true
    ) async throws -> RawPeer {
        let collector = Collector()
        let opened = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.socketOption(.so_rcvbuf), value: 16_384)
            .connectTimeout(.seconds(60))
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if !prefix.isEmpty { try channel.pipeline.syncOperations.addHandler(Prefix(prefix)) }
                    if let tls {
                        let handler = TLSHandler(
                            tls.makeConnection(),
                            on: channel.eventLoop,
                            timer: HandshakeTimer(deadline: .distantFuture, on: channel.eventLoop),
                            recordLimit: .hours(1)
                        )
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    let opened = channel.eventLoop.makePromise(of: Void.self)
                    if tls == nil { opened.succeed() }
                    do {
                        try channel.pipeline.syncOperations.addHandler(CollectingHandler(collector, opened: opened))
                    } catch {
                        opened.fail(error)
                        throw error
                    }
                    return (channel, opened.futureResult)
                }
            }
        try await opened.1.get()
        if !reads { try await opened.0.setOption(.autoRead, value: false).get() }
        return RawPeer(channel: opened.0, collector: collector)
    }

    /// The local port.
    var port: Int? { self.channel.localAddress?.port }

    /// Sends bytes unchanged; they need not arrive.
    func send(_ bytes: [UInt8]) async throws {
        try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Sends one frame.
    func send(_ request: Request) async throws {
        var buffer = ByteBuffer()
        Frame.append(request.encoded(), to: &buffer)
        try await self.send(Array(buffer.readableBytesView))
    }

    /// Sends bytes without waiting for the system to take them.
    func push(_ bytes: [UInt8]) {
        self.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// Sends bytes directly to the socket, below TLS.
    func sendBeneathTLS(_ bytes: [UInt8]) async throws {
        try await self.channel.eventLoop.flatSubmit {
            do {
                let context = try self.channel.pipeline.syncOperations.context(handlerType: TLSHandler.self)
                let promise = context.eventLoop.makePromise(of: Void.self)
                context.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: promise)
                return promise.futureResult
            } catch {
                return self.channel.eventLoop.makeFailedFuture(error)
            }
        }.get()
    }

    /// Waits for the end of the connection and returns the answers.
    func ended() async throws -> [Response] {
        try await self.channel.closeFuture.get()
        var decoder = FrameDecoder()
        decoder.receive(self.collector.received)
        var responses: [Response] = []
        while let frame = try decoder.next() { responses.append(try Response(decoding: frame)) }
        return responses
    }

    /// Waits until `byteCount` bytes have arrived.
    func received(byteCount: Int) async {
        for await count in self.collector.counts where count >= byteCount { return }
    }

    func close() {
        self.channel.close(promise: nil)
    }
}

/// Sends bytes as soon as the channel is active, before the later handlers do.
private final class Prefix: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(NIOAny(ByteBuffer(bytes: self.bytes)), promise: nil)
        context.fireChannelActive()
    }
}

/// The bytes that a peer received.
private final class Collector: Sendable {
    private let buffer = Mutex(ByteBuffer())
    let counts: AsyncStream<Int>
    private let source: AsyncStream<Int>.Continuation

    init() {
        (self.counts, self.source) = AsyncStream.makeStream()
    }

    var received: ByteBuffer { self.buffer.withLock { $0 } }

    func add(_ bytes: ByteBuffer) {
        let count = self.buffer.withLock { buffer in
            buffer.writeImmutableBuffer(bytes)
            return buffer.readableBytes
        }
        self.source.yield(count)
    }

    func end() { self.source.finish() }
}

private final class CollectingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let collector: Collector
    private let opened: EventLoopPromise<Void>

    init(_ collector: Collector, opened: EventLoopPromise<Void>) {
        self.collector = collector
        self.opened = opened
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.collector.add(self.unwrapInboundIn(data))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSHandshakeCompleted { self.opened.succeed() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.opened.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { self.collector.end() }

    /// Also called if the connection was not established.
    func handlerRemoved(context: ChannelHandlerContext) { self.opened.fail(ChannelError.ioOnClosedChannel) }
}
