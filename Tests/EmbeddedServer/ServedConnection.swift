internal import NIOCore
package import NIOEmbedded
package import RemotePINServer
@testable import Transport
package import Vocabulary
package import Wire

/// A client's connection to the production server, without a network: the bytes of frames above TLS.
package final class ServedConnection {
    private let channel = EmbeddedChannel()
    private let frames: FrameChannel
    private let end = Box(false)
    /// The bytes sent so far, used to count the expected answers.
    private var sent = FrameDecoder()
    private var isBroken = false
    private var expected = 0
    private var responses: [Response] = []
    private var total = 0

    /// - Parameter address: The client's IP address, to which the limits for sources apply.
    package init(
        _ server: RemotePINServer,
        binding: ChannelBinding,
        address: String? = nil,
        _ queue: JobQueue
    ) throws {
        try self.channel.pipeline.syncOperations.addHandler(CloseAtOnce())
        self.frames = try FrameChannel(
            on: self.channel,
            peer: try address.map { try SocketAddress(ipAddress: $0, port: 1) },
            limits: TransportLimits(),
            isSecure: false,
            onOpen: { _, _ in },
            onFailure: { _ in }
        )
        self.channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        self.channel.embeddedEventLoop.run()
        let connection = ServerConnection(
            self.frames,
            channelBinding: binding,
            limits: TransportLimits()
        )
        let end = self.end
        Task(executorPreference: queue) {
            await server.serve(connection)
            end.value = true
        }
    }

    package var loop: EmbeddedEventLoop { self.channel.embeddedEventLoop }
    /// The server has ended its work on the connection.
    package var isDone: Bool { self.end.value }
    package var isOpen: Bool { self.channel.isActive }

    /// Every call so far has its answer.
    package var isAnswered: Bool {
        self.receive()
        return self.total >= self.expected
    }

    package func send(_ payloads: [[UInt8]]) {
        var bytes = ByteBuffer()
        for payload in payloads { Frame.append(payload, to: &bytes) }
        self.send(bytes)
    }

    /// Sends bytes that need not be frames; returns the frames that they complete.
    @discardableResult
    package func send(bytes: [UInt8]) -> [[UInt8]] { self.send(ByteBuffer(bytes: bytes)) }

    @discardableResult
    private func send(_ bytes: ByteBuffer) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        self.sent.receive(bytes)
        do throws(FrameViolation) {
            while !self.isBroken, let frame = try self.sent.next() { frames.append(frame) }
        } catch {
            // The server answers it once.
            self.isBroken = true
            self.expected += 1
        }
        self.expected += frames.count
        _ = try? self.channel.writeInbound(bytes)
        return frames
    }

    /// Removes and returns the answers so far.
    package func takeAnswers() -> [Response] {
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
    package func abort() {
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
