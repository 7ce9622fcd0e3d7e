internal import NIOCore

/// Sends one frame on a connection that is not admitted, and closes it.
final class BusyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: [UInt8]
    /// The time between answer and close: a client whose request meets a closed socket would not read the answer.
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
