internal import NIOCore

/// The beginning of a connection: a balancer's header where one is due, then the first record of TLS.
///
///     awaitingHeader ──header──▶ awaitingHello ──first record──▶ waiting for its turn ──▶ done, removed
///            └──────────────┬─────────┴───────────────┬──────────────────┘
///                     fault, time limit          the peer's end ──▶ ended
///
/// Nothing but this handler exists for the connection until then: silence costs a socket and a timer. It reads on only
/// while it waits for more, and hands every byte behind the header on.
final class ClientHelloHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// What it calls, on the event loop.
    struct Steps {
        /// The balancer has said where the connection comes from; false where it may not go on.
        var takeOrigin: (ProxyHeader.Origin) -> Bool
        /// The first record is there: adds the handlers that it is for.
        var open: () throws -> Void
        /// It ended without; at most once.
        var fail: (ConnectionFailure) -> Void
    }

    private enum Phase {
        case awaitingHeader
        case awaitingHello
        /// Everything is there; libssl's work has to wait.
        case waiting
        case ended
    }

    private let deadline: NIODeadline
    private let pacer: HandshakePacer
    private var steps: Steps?
    private var phase: Phase
    private var bytes = ByteBuffer()
    private var timer: Scheduled<Void>?
    /// The balancer asks for itself; that it says no more is no failure.
    private var isHealthCheck = false

    /// - Parameters:
    ///   - demandsHeader: whether the peer is a balancer, which must say for whom it comes.
    ///   - deadline: when all of this must be done, the handshake that follows included.
    ///   - pacer: the event loop's.
    init(demandsHeader: Bool, deadline: NIODeadline, pacer: HandshakePacer, steps: Steps) {
        self.phase = demandsHeader ? .awaitingHeader : .awaitingHello
        self.deadline = deadline
        self.pacer = pacer
        self.steps = steps
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: self.deadline) {
            self.fail(.tls(.timedOut), context: context)
        }
        if context.channel.isActive { context.read() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end()
    }

    func channelActive(context: ChannelHandlerContext) {
        context.read()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.phase != .ended else { return }
        self.bytes.writeImmutableBuffer(self.unwrapInboundIn(data))
        self.advance(context: context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        switch self.phase {
        case .awaitingHeader, .awaitingHello: context.read()
        case .waiting, .ended: break
        }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        let isQuiet = self.isHealthCheck && self.bytes.readableBytes == 0
        if self.phase != .ended, !isQuiet { self.steps?.fail(.tls(.endedEarly)) }
        self.end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A socket's error is followed by its end.
        context.close(promise: nil)
    }

    // MARK: - From one phase to the next

    private func advance(context: ChannelHandlerContext) {
        if self.phase == .awaitingHeader, !self.takeHeader(context: context) { return }
        guard self.phase == .awaitingHello else { return }
        switch ClientHelloRecord.find(in: self.bytes) {
        case .incomplete: return
        case .notTLS: self.fail(.tls(.broken("not a TLS handshake")), context: context)
        case .whole:
            self.phase = .waiting
            self.pacer.run { self.open(context: context) }
        }
    }

    /// True once the header is read and the connection may go on.
    private func takeHeader(context: ChannelHandlerContext) -> Bool {
        do throws(ProxyHeaderFault) {
            guard let header = try ProxyHeader(of: self.bytes.readableBytesView) else { return false }
            self.bytes.moveReaderIndex(forwardBy: header.byteCount)
            self.bytes.discardReadBytes()
            self.isHealthCheck = header.origin == .local
            guard self.steps?.takeOrigin(header.origin) == true else {
                self.end()
                context.close(promise: nil)
                return false
            }
            self.phase = .awaitingHello
            return true
        } catch {
            self.fail(.proxyHeader(error), context: context)
            return false
        }
    }

    /// Makes way for TLS, which gets all that came.
    private func open(context: ChannelHandlerContext) {
        // It may have ended while it waited.
        guard self.phase == .waiting, context.channel.isActive, let steps = self.steps else { return }
        let bytes = self.bytes
        self.end()
        do {
            try steps.open()
            context.fireChannelRead(self.wrapInboundOut(bytes))
            context.fireChannelReadComplete()
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    private func fail(_ failure: ConnectionFailure, context: ChannelHandlerContext) {
        guard self.phase != .ended else { return }
        self.steps?.fail(failure)
        self.end()
        context.close(promise: nil)
    }

    private func end() {
        self.phase = .ended
        self.bytes = ByteBuffer()
        self.steps = nil
        self.timer?.cancel()
        self.timer = nil
    }
}
