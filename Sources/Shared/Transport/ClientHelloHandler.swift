internal import NIOCore

/// Handles the start of a connection: the load balancer's header, if one is required, and then the first TLS record.
///
///     awaitingHeader ──header──▶ awaitingHello ──first record──▶ queued ──▶ TLS opened, handler removed
///            └──────────────┬─────────┴──────────────┬─────────────┘
///                     fault, timeout            peer closes ──▶ ended
///
/// Until that point, this handler is the only one in the pipeline, so a silent peer costs a socket and a timer and
/// nothing else. The handler only reads while it needs more bytes, and forwards every byte after the header.
final class ClientHelloHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The handler's callbacks, which run on the event loop.
    struct Steps {
        /// Receives the origin sent by the load balancer; returns false if the connection is not allowed.
        var takeOrigin: (ProxyHeader.Origin) -> Bool
        /// Adds the handlers for TLS and frames once the first record is complete, and passes on the timer.
        var open: (HandshakeTimer) throws -> Void
        /// Reports that the connection ended before `open` was called; called at most once.
        var fail: (ConnectionFailure) -> Void
    }

    private enum Phase {
        case awaitingHeader, awaitingHello
        /// The first record is complete.
        ///
        /// The pacer will run the handshake later.
        case queued
        case ended
    }

    private let pacer: HandshakePacer
    private var steps: Steps?
    private var phase: Phase
    private var bytes = ByteBuffer()
    /// Nil once it has been passed on.
    private var timer: HandshakeTimer?
    /// Whether the load balancer is checking our health, in which case it is not a failure if the connection ends
    /// early.
    private var isHealthCheck = false

    /// - Parameters:
    ///   - demandsHeader: Whether the peer is a load balancer, which must tell us the client's address.
    ///   - timer: The time limit for the header, the first record and the handshake.
    ///   - pacer: The event loop's pacer.
    init(demandsHeader: Bool, timer: HandshakeTimer, pacer: HandshakePacer, steps: Steps) {
        self.phase = demandsHeader ? .awaitingHeader : .awaitingHello
        self.timer = timer
        self.pacer = pacer
        self.steps = steps
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.timer?.onTimeout = { self.fail(.tls(.timedOut), context: context) }
        if context.channel.isActive { context.read() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.end() }

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
        case .queued, .ended: break
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
        // After a socket error, the channel becomes inactive, so there is nothing else to do here.
        context.close(promise: nil)
    }

    // MARK: - Transitions

    private func advance(context: ChannelHandlerContext) {
        if self.phase == .awaitingHeader, !self.takeHeader(context: context) { return }
        guard self.phase == .awaitingHello else { return }
        switch ClientHelloRecord.check(self.bytes) {
        case .incomplete: return
        case .notTLS: self.fail(.tls(.broken("not a TLS handshake")), context: context)
        case .complete:
            self.phase = .queued
            self.pacer.run { self.open(context: context) }
        }
    }

    /// Reads the header; returns true once it is complete, if the connection may continue.
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

    /// Replaces this handler with TLS, passing on all bytes received so far.
    private func open(context: ChannelHandlerContext) {
        // The connection may have been closed while it was queued.
        guard self.phase == .queued, context.channel.isActive, let steps = self.steps, let timer = self.timer else {
            return
        }
        let bytes = self.bytes
        self.timer = nil
        self.end()
        do {
            try steps.open(timer)
            context.fireChannelRead(self.wrapInboundOut(bytes))
            context.fireChannelReadComplete()
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        } catch {
            timer.cancel()
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

/// Checks a client's first TLS record before libssl sees the connection.
///
/// A connection costs libssl some twenty kilobytes and, with a ClientHello, a signature. We do not want to spend either
/// on a peer that sends nothing, or garbage, or one byte at a time. A connection is therefore only handed to libssl
/// once its first record is complete and has the right type. The content of the record is checked by libssl.
enum ClientHelloRecord {
    /// The status of the bytes received so far.
    enum Status: Equatable {
        /// These bytes cannot be the start of a TLS connection.
        case notTLS
        /// More bytes are needed.
        case incomplete
        /// A complete record of handshake messages, possibly followed by other bytes.
        case complete
    }

    /// The size of the type, version and length fields.
    private static let headerByteCount = 5
    /// RFC 8446 §5.1: 2¹⁴ bytes of plaintext.
    private static let longestByteCount = 16_384
    private static let handshake: UInt8 = 22
    private static let clientHello: UInt8 = 1

    /// Checks the bytes received so far.
    static func check(_ bytes: ByteBuffer) -> Status {
        let view = bytes.readableBytesView
        func byte(_ place: Int) -> UInt8? { place < view.count ? view[view.startIndex + place] : nil }
        if let type = byte(0), type != Self.handshake { return .notTLS }
        if let version = byte(1), version != 3 { return .notTLS }
        guard let high = byte(3), let low = byte(4) else { return .incomplete }
        let length = Int(high) << 8 | Int(low)
        guard (1...Self.longestByteCount).contains(length) else { return .notTLS }
        if let message = byte(5), message != Self.clientHello { return .notTLS }
        return view.count >= Self.headerByteCount + length ? .complete : .incomplete
    }
}
