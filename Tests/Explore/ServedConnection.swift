internal import NIOCore
internal import NIOEmbedded
internal import RemotePINServer
@testable import Transport
internal import Wire

/// A client's connection to the production server, without a network: the bytes of frames above TLS.
final class ServedConnection {
    private let channel = EmbeddedChannel()
    private let frames: FrameChannel
    private let end = Box(false)
    private var expected = 0
    private var responses: [Response] = []
    private var total = 0

    init(_ server: RemotePINServer, place: Int, _ queue: JobQueue) throws {
        try self.channel.pipeline.syncOperations.addHandler(CloseAtOnce())
        self.frames = try FrameChannel(
            on: self.channel,
            peer: nil,
            limits: TransportLimits(),
            isSecure: false,
            onOpen: { _, _ in },
            onFailure: { _ in }
        )
        self.channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        self.channel.embeddedEventLoop.run()
        let connection = ServerConnection(
            self.frames,
            channelBinding: Phone.channelBinding(of: place),
            limits: TransportLimits()
        )
        let end = self.end
        Task(executorPreference: queue) {
            await server.serve(connection)
            end.value = true
        }
    }

    var loop: EmbeddedEventLoop { self.channel.embeddedEventLoop }
    /// The server has ended its work on the connection.
    var isDone: Bool { self.end.value }
    var isOpen: Bool { self.channel.isActive }

    /// Every call so far has its answer.
    var isAnswered: Bool {
        self.receive()
        return self.total >= self.expected
    }

    func send(_ payloads: [[UInt8]]) {
        var bytes = ByteBuffer()
        for payload in payloads { Frame.append(payload, to: &bytes) }
        self.expected += payloads.count
        _ = try? self.channel.writeInbound(bytes)
    }

    /// Removes and returns the answers so far.
    func takeAnswers() -> [Response] {
        self.receive()
        defer { self.responses = [] }
        return self.responses
    }

    private func receive() {
        while var buffer = (try? self.channel.readOutbound(as: ByteBuffer.self)) ?? nil {
            while let count = buffer.readInteger(as: UInt32.self), let bytes = buffer.readBytes(length: Int(count)) {
                guard let response = try? Response(decoding: bytes) else { preconditionFailure("not an answer") }
                self.responses.append(response)
                self.total += 1
            }
        }
    }

    /// Ends the connection, as a client that leaves.
    func abort() {
        self.frames.abort()
        self.loop.run()
    }
}

/// Closes without waiting for the client's side, which would take a timeout.
private final class CloseAtOnce: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        context.close(mode: .all, promise: promise)
    }
}
