internal import NIOCore

/// Stops a listening socket for a second after accept(2) failed, and reports the reason.
///
/// Threat: an attacker who exhausts the file descriptors with silent connections would make the
/// event loop call accept(2) in a busy loop. NIO's AcceptBackoffHandler delays only the next read;
/// the failed read stays requested.
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
        // Setting an option fails on a socket that was closed in the meantime, which accepts nothing either.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.backoff) {
            try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
