internal import NIOCore

/// Has a listening socket that cannot accept rest for a second, and tells why.
///
/// Threat: whoever has the process out of files, with connections that say nothing, would have its event loop ask the kernel
/// for the next one without end. NIO's AcceptBackoffHandler holds back the next read only: after an error the read that
/// failed stays asked for.
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let rest = TimeAmount.seconds(1)

    private let tell: @Sendable (String) -> Void

    init(tell: @escaping @Sendable (String) -> Void) {
        self.tell = tell
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError else { return context.fireErrorCaught(error) }
        self.tell("\(error)")
        // A socket that was closed meanwhile takes no options, and accepts nothing.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.rest) {
            try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
