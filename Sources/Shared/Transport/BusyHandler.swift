internal import NIOCore

/// Sends a single frame on a connection that was not admitted, and then closes the connection.
final class BusyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: [UInt8]
    /// The delay between sending the answer and closing the connection.
    ///
    /// If the client sent its request to a closed socket, it would never read the answer.
    private static let grace: TimeAmount = .milliseconds(200)

    init(_ answer: [UInt8]) {
        self.answer = answer
    }

    func channelActive(context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: Frame.headerByteCount + self.answer.count)
        Frame.append(self.answer, to: &buffer)
        let channel = context.channel
        context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
        channel.eventLoop.scheduleTask(in: Self.grace) { channel.close(promise: nil) }
    }
}
