internal import NIOCore

/// Pauses a listening socket between batches of accepted connections, so that its event loop can serve the ones that
/// are already open.
///
/// The listening channel accepts a few connections at a time and then requests the next. Each batch must be followed by
/// a pause several times as long as the batch took, because a connection causes more work after it has been accepted.
/// Time spent without accepting counts towards the pause. Short pauses are combined, because each one costs a timer and
/// two changes to the epoll set, about a tenth of the system calls of an unlock. In the meantime, other connections
/// wait in the kernel's backlog. If the backlog overflows, the kernel drops connections, and honest clients retry.
final class AcceptPacer: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = any Channel

    private static let pauseFactor: Int64 = 3
    private static let longestPause = TimeAmount.milliseconds(20)
    /// The shortest pause worth making.
    ///
    /// Shorter ones are added to the next pause.
    private static let shortestPause = TimeAmount.milliseconds(1)

    private let now: () -> NIODeadline
    private var beganAt: NIODeadline?
    private var pausedUntil = NIODeadline.uptimeNanoseconds(0)
    private var isScheduled = false

    init(now: @escaping () -> NIODeadline = { .now() }) { self.now = now }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.beganAt == nil { self.beganAt = self.now() }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if let began = self.beganAt.take() {
            let end = self.now()
            let pause = min(Self.pauseFactor * (end - began), Self.longestPause)
            self.pausedUntil = max(self.pausedUntil, end) + pause
        }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        guard self.pausedUntil - self.now() >= Self.shortestPause else { return context.read() }
        guard !self.isScheduled else { return }
        self.isScheduled = true
        context.eventLoop.assumeIsolated().scheduleTask(deadline: self.pausedUntil) {
            self.isScheduled = false
            context.read()
        }
    }
}

/// Stops accepting connections for a second after accept(2) fails, and reports the error.
///
/// Threat: an attacker who exhausts the file descriptors with silent connections would make the event loop call
/// accept(2) in a busy loop. NIO's AcceptBackoffHandler does not help here because it only delays the next read, while
/// the failed one stays pending.
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let backoff = TimeAmount.seconds(1)

    private let report: @Sendable (String) -> Void

    init(report: @escaping @Sendable (String) -> Void) { self.report = report }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError else { return context.fireErrorCaught(error) }
        self.report("\(error)")
        // This fails if the socket has been closed, in which case it no longer accepts connections anyway.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)  // rule: transport-accept-without-backoff
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.backoff) {
            try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
