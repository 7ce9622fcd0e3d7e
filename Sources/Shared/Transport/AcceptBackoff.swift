internal import NIOCore

/// Stops accepting connections for a second after accept(2) fails, and reports the error.
///
/// Threat: an attacker who exhausts the file descriptors with silent connections would make the event loop call
/// accept(2) in a busy loop. NIO's AcceptBackoffHandler does not help here because it only delays the next read, while
/// the failed one stays pending.
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let backoff = TimeAmount.seconds(1)

    private let report: @Sendable (String) -> Void

    init(report: @escaping @Sendable (String) -> Void) {
        self.report = report
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError else { return context.fireErrorCaught(error) }
        self.report("\(error)")
        // This fails if the socket has been closed, in which case it no longer accepts connections anyway.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.backoff) {
            try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
