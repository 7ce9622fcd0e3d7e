internal import NIOCore
internal import Synchronization

/// A flood connection that misbehaves according to its kind until it is closed.
final class FloodConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let kind: FloodKind
    private let pause: TimeAmount
    private let counts: FloodCounts
    private var bytes: [UInt8] = []
    private var next = 0
    private var timer: Scheduled<Void>?

    init(_ kind: FloodKind, pause: TimeAmount, counts: FloodCounts) {
        self.kind = kind
        self.pause = pause
        self.counts = counts
    }

    func channelActive(context: ChannelHandlerContext) {
        self.counts.opened.add(1, ordering: .relaxed)
        var generator = SystemRandomNumberGenerator()
        switch self.kind {
        case .halfOpen: break
        case .churn: context.close(promise: nil)
        case .garbage:
            let count = Int.random(in: 1...512, using: &generator)
            self.send((0..<count).map { _ in .random(in: 0...255, using: &generator) }, context: context)
        case .hello: self.send(ClientHello.record(using: &generator), context: context)
        case .slow:
            self.bytes = ClientHello.record(using: &generator)
            self.drip(context: context)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.counts.received.add(self.unwrapInboundIn(data).readableBytes, ordering: .relaxed)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.timer = nil
        self.counts.ended.add(1, ordering: .relaxed)
        context.fireChannelInactive()
    }

    private func drip(context: ChannelHandlerContext) {
        guard self.next < self.bytes.count else { return }
        self.send([self.bytes[self.next]], context: context)
        self.next += 1
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: self.pause) { self.drip(context: context) }
    }

    private func send(_ bytes: [UInt8], context: ChannelHandlerContext) {
        self.counts.sent.add(bytes.count, ordering: .relaxed)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }
}
