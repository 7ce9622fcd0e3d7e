internal import NIOCore

/// Lets a listening socket rest between the connections that it accepts, in which its event loop serves those it has.
///
/// Stands in the listening channel, which accepts a few at a time and asks for the next ones itself. After each few it
/// rests for a multiple of the time that they took: what a connection costs goes on after it was accepted. Whoever is not
/// accepted yet waits in the kernel; what does not fit there the kernel drops, and honest clients try again.
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
