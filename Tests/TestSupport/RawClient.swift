internal import NIOCore
internal import NIOPosix

/// A client that sends arbitrary bytes over a separate connection and records the replies.
package final class RawClient: Sendable {
    private let channel: any Channel
    private let (received, source) = AsyncStream<[UInt8]>.makeStream()

    /// Connects to this machine.
    package init(port: Int) async throws {
        let source = self.source
        self.channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(source))
                    return channel
                }
            }
    }

    /// Connects to a Unix socket.
    package init(unixSocket path: String) async throws {
        let source = self.source
        self.channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(source))
                    return channel
                }
            }
    }

    /// Sends text; a failure to deliver it is ignored.
    package func send(_ text: String) async {
        try? await self.channel.writeAndFlush(ByteBuffer(string: text)).get()
    }

    /// Sends bytes; a failure to deliver them is ignored.
    package func send(_ bytes: [UInt8]) async {
        try? await self.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Closes the connection, as a client does when it has finished.
    package func close() { self.channel.close(promise: nil) }

    /// Everything received until `word`, or until the connection ended.
    package func receive(until word: String? = nil) async -> String {
        var bytes: [UInt8] = []
        for await part in self.received {
            bytes += part
            if let word, String(decoding: bytes, as: UTF8.self).contains(word) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns when the connection has ended.
    package func closed() async { try? await self.channel.closeFuture.get() }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let source: AsyncStream<[UInt8]>.Continuation

        init(_ source: AsyncStream<[UInt8]>.Continuation) {
            self.source = source
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.source.yield(Array(buffer: self.unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.source.finish()
            context.fireChannelInactive()
        }
    }
}
