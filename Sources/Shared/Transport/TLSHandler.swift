internal import Glibc
internal import NIOCore
internal import Vocabulary

/// The inbound event for a completed handshake.
struct TLSHandshakeCompleted: Sendable {
    let channelBinding: ChannelBinding
    let isResumed: Bool
}

/// The outbound event that discards all further output, including alerts.
struct TLSAbort: Sendable {}

/// The TLS layer between the socket and the frames.
///
///     handshaking ──done──▶ open ──close(.output)──▶ sentCloseNotify
///          └───────┬──────────┴─────────────┬─────────────┘
///               failure, abort, or channel closed ──▶ ended
///
/// Reads are requested by this handler during the handshake, and by the next handler after that. This handler holds at
/// most the bytes of one read and the bytes the socket cannot take. In the latter case, the channel becomes unwritable
/// and the next handler stops reading.
final class TLSHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case handshaking, open, sentCloseNotify, ended
    }

    private let connection: TLSConnection
    private let recordLimit: TimeAmount
    private let pacer: HandshakePacer?
    private let plaintext: ReusableBuffer
    private var state = State.handshaking
    /// Whether the first step of the handshake was already scheduled by the pacer.
    ///
    /// It runs when this handler is added.
    private var hasBegun = false
    private var isQueued = false
    /// Nil after the handshake.
    private var handshakeTimer: HandshakeTimer?
    private var recordTimer: Scheduled<Void>?
    /// Whether a read is pending.
    ///
    /// If not, we are not waiting for the peer.
    private var isReading = false
    private var waitingWrites: [(ByteBuffer, EventLoopPromise<Void>?)] = []

    /// - Parameters:
    ///   - eventLoop: The channel's event loop, on which this must be called.
    ///   - timer: The time limit for the handshake.
    ///   - recordLimit: The maximum time between the first and the last byte of a record.
    ///   - pacer: The queue for the steps of the handshake between the first and the server's signature, or nil on a
    ///     client.
    init(
        _ connection: consuming TLSConnection,
        on eventLoop: any EventLoop,
        timer: HandshakeTimer,
        recordLimit: TimeAmount,
        pacer: HandshakePacer? = nil
    ) {
        let buffers = ReusableBuffers.of(eventLoop)
        connection.use(buffers.records)
        self.plaintext = buffers.plaintext
        self.connection = connection
        self.handshakeTimer = timer
        self.recordLimit = recordLimit
        self.pacer = pacer
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.handshakeTimer?.onTimeout = { self.fail(.timedOut, context: context) }
        if context.channel.isActive { self.begin(context: context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.end() }

    func channelActive(context: ChannelHandlerContext) {
        self.begin(context: context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        let wasHandshaking = self.state == .handshaking
        self.end()
        if wasHandshaking { context.fireErrorCaught(TLSFailure.endedEarly) }
        context.fireChannelInactive()
    }

    // MARK: - Inbound

    func read(context: ChannelHandlerContext) {
        self.isReading = true
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.isReading = false
        switch self.state {
        case .handshaking:
            self.connection.receive(self.unwrapInboundIn(data))
            self.takeStep(context: context)
        case .open, .sentCloseNotify:
            self.connection.receive(self.unwrapInboundIn(data))
            self.decrypt(context: context)
        case .ended: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if self.state == .handshaking, !self.isQueued { context.read() }
        context.fireChannelReadComplete()
    }

    private func begin(context: ChannelHandlerContext) {
        guard self.state == .handshaking else { return }
        // A server has nothing to send before the ClientHello, and libssl would allocate a buffer and free it again.
        if self.pacer == nil { self.handshake(context: context) }
        if self.state == .handshaking { context.read() }
    }

    /// Continues the handshake: immediately if this is its first step or the signature has been made, otherwise through
    /// the pacer.
    ///
    /// Threat: the signature is not always made in the first step. If a ClientHello comes in two records, or without a
    /// key share the server can use, it is made in a later one. Without the pacer, an attacker could hold back many of
    /// these connections and then make the server sign for all of them in a row.
    ///
    /// After the server's Finished, only the client's is left. It costs a twentieth of a signature's step, so a wallet
    /// need not wait for another client's.
    private func takeStep(context: ChannelHandlerContext) {
        // rule: transport-later-steps-at-once
        guard self.hasBegun, let pacer = self.pacer, !self.connection.hasSentFinished else {
            self.hasBegun = true
            return self.handshake(context: context)
        }
        guard !self.isQueued else { return }
        self.isQueued = true
        pacer.run {
            self.isQueued = false
            // The connection may have been closed while it was queued.
            guard self.state == .handshaking else { return }
            self.handshake(context: context)
            if self.state == .handshaking { context.read() }
        }
    }

    private func handshake(context: ChannelHandlerContext) {
        do throws(TLSFailure) {
            let isDone = try self.connection.handshake()
            self.sendOutput(context: context, promise: nil)
            context.flush()
            guard isDone else { return }
            let opened = TLSHandshakeCompleted(
                channelBinding: try self.connection.channelBinding(),
                isResumed: self.connection.isResumed
            )
            self.state = .open
            self.handshakeTimer?.cancel()
            self.handshakeTimer = nil
            context.fireUserInboundEventTriggered(opened)
            self.sendWaitingWrites(context: context)
            // The first call may have arrived together with the end of the handshake.
            self.decrypt(context: context)
        } catch {
            self.fail(error, context: context)
        }
    }

    private func decrypt(context: ChannelHandlerContext) {
        do throws(TLSFailure) {
            while self.state == .open || self.state == .sentCloseNotify {
                // A record is longer than its content, so this is enough.
                var buffer = self.plaintext.take(capacity: max(256, self.connection.readableByteCount))
                let reading = try self.connection.read(into: &buffer)
                self.plaintext.keep(buffer)
                switch reading {
                case .bytes:
                    // The next record gets the whole time.
                    self.stopWatchingRecord()
                    context.fireChannelRead(self.wrapInboundOut(consume buffer))
                    self.plaintext.wipe()
                    // Usually there are no more bytes, and checking for them is cheaper than trying to read.
                    guard self.connection.mayHaveMore else { return self.finishReading(context: context) }
                case .nothing: return self.finishReading(context: context)
                case .ended:
                    self.answerClose(context: context)
                    return
                }
            }
        } catch {
            self.fail(error, context: context)
        }
    }

    /// Finishes a round of decryption when more bytes are needed.
    private func finishReading(context: ChannelHandlerContext) {
        guard self.state == .open || self.state == .sentCloseNotify else { return }
        // Reading only ever produces output in response to a key update.
        self.sendOutput(context: context, promise: nil, flushing: true)
        self.watchRecord(context: context)
    }

    /// Keeps a timer running while a record is incomplete, so that a peer cannot just send a single byte every now and
    /// then.
    private func watchRecord(context: ChannelHandlerContext) {
        guard self.connection.isMidRecord else { return self.stopWatchingRecord() }
        guard self.recordTimer == nil else { return }
        self.recordTimer = context.eventLoop.assumeIsolated().scheduleTask(in: self.recordLimit) {
            self.recordTimer = nil
            if self.isReading { self.fail(.timedOut, context: context) } else { self.watchRecord(context: context) }
        }
    }

    private func stopWatchingRecord() {
        self.recordTimer?.cancel()
        self.recordTimer = nil
    }

    // MARK: - Outbound

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch self.state {
        case .handshaking: self.waitingWrites.append((self.unwrapOutboundIn(data), promise))
        case .open: self.encrypt(self.unwrapOutboundIn(data), context: context, promise: promise)
        case .sentCloseNotify, .ended: promise?.fail(ChannelError.outputClosed)
        }
    }

    private func encrypt(_ bytes: ByteBuffer, context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        do throws(TLSFailure) {
            try self.connection.write(bytes)
            self.sendOutput(context: context, promise: promise)
        } catch {
            promise?.fail(error)
            self.fail(error, context: context)
        }
    }

    private func sendWaitingWrites(context: ChannelHandlerContext) {
        guard !self.waitingWrites.isEmpty else { return }
        let writes = self.waitingWrites
        self.waitingWrites = []
        for (bytes, promise) in writes { self.encrypt(bytes, context: context, promise: promise) }
        context.flush()
    }

    private func sendOutput(context: ChannelHandlerContext, promise: EventLoopPromise<Void>?, flushing: Bool = false) {
        guard let output = self.connection.takeOutput() else {
            promise?.succeed()
            return
        }
        context.write(self.wrapOutboundOut(output), promise: promise)
        if flushing { context.flush() }
    }

    // MARK: - Closing

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .output:
            self.sendCloseNotify(context: context)
            context.close(mode: .output, promise: promise)
        case .all:
            self.sendCloseNotify(context: context)
            self.end()
            context.close(mode: .all, promise: promise)
        case .input: context.close(mode: .input, promise: promise)
        }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is TLSAbort else {
            context.triggerUserOutboundEvent(event, promise: promise)
            return
        }
        self.end()
        promise?.succeed()
    }

    /// Sends close_notify; the caller then closes the channel or its output.
    ///
    /// With TCP_CORK (tcp(7)), the kernel keeps the record until then, so that it leaves in one segment with the FIN
    /// and wakes the peer once.
    private func sendCloseNotify(context: ChannelHandlerContext) {
        guard self.state == .open else { return }
        self.state = .sentCloseNotify
        (context.channel as? any SocketOptionProvider)?
            .unsafeSetSocketOption(level: .tcp, name: .init(rawValue: TCP_CORK), value: CInt(1))
            .whenComplete { _ in }
        self.connection.sendCloseNotify()
        self.sendOutput(context: context, promise: nil, flushing: true)
    }

    /// Answers the peer's close_notify and closes the channel.
    private func answerClose(context: ChannelHandlerContext) {
        self.sendCloseNotify(context: context)
        self.end()
        context.close(mode: .all, promise: nil)
    }

    private func fail(_ failure: TLSFailure, context: ChannelHandlerContext) {
        guard self.state != .ended else { return }
        // libssl may have written an alert that tells the peer what went wrong.
        self.sendOutput(context: context, promise: nil, flushing: true)
        self.end()
        context.fireErrorCaught(failure)
        context.close(mode: .all, promise: nil)
    }

    private func end() {
        self.state = .ended
        self.handshakeTimer?.cancel()
        self.handshakeTimer = nil
        self.recordTimer?.cancel()
        self.recordTimer = nil
        let writes = self.waitingWrites
        self.waitingWrites = []
        for (_, promise) in writes { promise?.fail(ChannelError.ioOnClosedChannel) }
    }
}
