internal import NIOCore

/// Pauses a listening socket between batches of accepted connections, so that its event loop serves
/// the open ones.
///
/// The listening channel accepts a few connections at a time and then requests the next. Each batch
/// requires a pause of a multiple of the time that it took, since a connection causes further work
/// after it was accepted. Time without accepts counts as pause, and short pauses are combined: one
/// pause costs a timer and two changes of the epoll set, as much as a tenth of an unlock's system
/// calls. The other connections wait in the kernel's backlog; the kernel drops those beyond it, and
/// honest clients retry.
final class AcceptPacer: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = any Channel

    private static let pauseFactor: Int64 = 3
    private static let longestPause = TimeAmount.milliseconds(20)
    /// The pause that is required before the socket pauses at all.
    private static let shortestPause = TimeAmount.milliseconds(1)

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
