internal import NIOCore

/// Pauses a listening socket between batches of accepted connections, so that its event loop serves
/// the open ones.
///
/// The listening channel accepts a few connections at a time and then requests the next. After each
/// batch this handler pauses for a multiple of the time that the batch took, since a connection
/// causes further work after it was accepted. The other connections wait in the kernel's backlog;
/// the kernel drops those beyond it, and honest clients retry.
final class AcceptPacer: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = any Channel

    private static let pauseFactor: Int64 = 3
    private static let longestPause = TimeAmount.milliseconds(20)

    private let now: () -> NIODeadline
    private var beganAt: NIODeadline?
    private var pausedUntil = NIODeadline.uptimeNanoseconds(0)
    private var isScheduled = false

    init(now: @escaping () -> NIODeadline = { .now() }) {
        self.now = now
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.beganAt == nil { self.beganAt = self.now() }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if let began = self.beganAt.take() {
            let end = self.now()
            self.pausedUntil = end + min(Self.pauseFactor * (end - began), Self.longestPause)
        }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        guard self.now() < self.pausedUntil else { return context.read() }
        guard !self.isScheduled else { return }
        self.isScheduled = true
        context.eventLoop.assumeIsolated().scheduleTask(deadline: self.pausedUntil) {
            self.isScheduled = false
            context.read()
        }
    }
}
