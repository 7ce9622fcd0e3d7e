internal import NIOCore
internal import Vocabulary

/// Fired up the pipeline when both ends have proved who they are.
struct TLSHandshakeCompleted: Sendable {
    let channelBinding: ChannelBinding
    let isResumed: Bool
}

/// Sent down the pipeline: from now on nothing leaves, not even an alert.
struct TLSAbort: Sendable {}

/// TLS between the socket and the frames: decrypts what comes in, encrypts what goes out.
///
///     handshaking ──done──▶ open ──close(.output)──▶ sentCloseNotify
///          └───────┬──────────┴─────────────┬─────────────┘
///                failed, silenced, or the socket's end ──▶ ended
///
/// Reads are asked for by the handler above; during the handshake this one asks itself. What it holds is one read's
/// worth of bytes and what the socket does not take, at which the channel stops being writable and the handler above
/// stops reading.
final class TLSHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case handshaking
        case open
        case sentCloseNotify
        case ended
    }

    private let connection: TLSConnection
    private let deadline: NIODeadline
    private let recordLimit: TimeAmount
    private let pacer: HandshakePacer?
    private let plaintext: ReusableBuffer
    private var state = State.handshaking
    /// The first step is made in the turn in which the opening made this handler.
    private var hasBegun = false
    private var waitsForTurn = false
    private var handshakeTimer: Scheduled<Void>?
    private var recordTimer: Scheduled<Void>?
    /// Whether bytes have been asked for that have not come: if not, it is not the peer who is slow.
    private var isWaiting = false
    private var waitingWrites: [(ByteBuffer, EventLoopPromise<Void>?)] = []

    /// - Parameters:
    ///   - eventLoop: the channel's, on which this is called.
    ///   - deadline: when the handshake must be done.
    ///   - recordLimit: the time from a record's first byte to its last.
    ///   - pacer: whose turns a handshake's steps behind the first take; nil where nobody else could want them.
    init(
        _ connection: consuming TLSConnection,
        on eventLoop: any EventLoop,
        deadline: NIODeadline,
        recordLimit: TimeAmount,
        pacer: HandshakePacer? = nil
    ) {
        let spare = ReusableBuffers.of(eventLoop)
        connection.use(spare.records)
        self.plaintext = spare.plaintext
        self.connection = connection
        self.deadline = deadline
        self.recordLimit = recordLimit
        self.pacer = pacer
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.handshakeTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: self.deadline) {
            self.fail(.timedOut, context: context)
        }
        if context.channel.isActive { self.begin(context: context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end()
    }

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

    // MARK: - What comes in

    func read(context: ChannelHandlerContext) {
        self.isWaiting = true
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.isWaiting = false
        switch self.state {
        case .handshaking:
            self.connection.receive(self.unwrapInboundIn(data))
            self.takeStep(context: context)
        case .open, .sentCloseNotify:
            self.connection.receive(self.unwrapInboundIn(data))
            self.decrypt(context: context)
        case .ended:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if self.state == .handshaking, !self.waitsForTurn { context.read() }
        context.fireChannelReadComplete()
    }

    private func begin(context: ChannelHandlerContext) {
        guard self.state == .handshaking else { return }
        self.shakeHands(context: context)
        if self.state == .handshaking { context.read() }
    }

    /// Goes on with the handshake: at once where this is its first step or nobody else's turn is due.
    ///
    /// Threat: the signature need not be in the first step. A hello that is sent in two records, or without a key that the server
    /// can use, has it made in a later one, and whoever holds many of those back could have all made in a row.
    private func takeStep(context: ChannelHandlerContext) {
        guard self.hasBegun, let pacer = self.pacer else {
            self.hasBegun = true
            return self.shakeHands(context: context)
        }
        guard !self.waitsForTurn else { return }
        self.waitsForTurn = true
        pacer.run {
            self.waitsForTurn = false
            // It may have ended while it waited.
            guard self.state == .handshaking else { return }
            self.shakeHands(context: context)
            if self.state == .handshaking { context.read() }
        }
    }

    private func shakeHands(context: ChannelHandlerContext) {
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
            // The first call may have come with the end of the handshake.
            self.decrypt(context: context)
        } catch {
            self.fail(error, context: context)
        }
    }

    private func decrypt(context: ChannelHandlerContext) {
        do throws(TLSFailure) {
            while self.state == .open || self.state == .sentCloseNotify {
                // A record is longer than what is in it.
                var buffer = self.plaintext.take(capacity: max(256, self.connection.readableByteCount))
                let reading = try self.connection.read(into: &buffer)
                self.plaintext.keep(buffer)
                switch reading {
                case .bytes:
                    context.fireChannelRead(self.wrapInboundOut(consume buffer))
                    self.plaintext.wipe()
                    // Most often this was all, and need not be asked for.
                    guard self.connection.mayHaveMore else { return self.haveRead(context: context) }
                case .nothing:
                    return self.haveRead(context: context)
                case .ended:
                    self.leave(context: context)
                    return
                }
            }
        } catch {
            self.fail(error, context: context)
        }
    }

    /// There is nothing more until more bytes arrive.
    private func haveRead(context: ChannelHandlerContext) {
        guard self.state == .open || self.state == .sentCloseNotify else { return }
        // Answers to key updates, and nothing else, are made by reading.
        self.sendOutput(context: context, promise: nil, flushing: true)
        self.watchRecord(context: context)
    }

    /// Keeps a timer while a record is not whole, so that a peer cannot send one byte a second for ever.
    private func watchRecord(context: ChannelHandlerContext) {
        guard self.connection.isMidRecord else {
            self.recordTimer?.cancel()
            self.recordTimer = nil
            return
        }
        guard self.recordTimer == nil else { return }
        self.recordTimer = context.eventLoop.assumeIsolated().scheduleTask(in: self.recordLimit) {
            self.recordTimer = nil
            if self.isWaiting { self.fail(.timedOut, context: context) } else { self.watchRecord(context: context) }
        }
    }

    // MARK: - What goes out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch self.state {
        case .handshaking:
            self.waitingWrites.append((self.unwrapOutboundIn(data), promise))
        case .open:
            self.encrypt(self.unwrapOutboundIn(data), context: context, promise: promise)
        case .sentCloseNotify, .ended:
            promise?.fail(ChannelError.outputClosed)
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

    // MARK: - Ends

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .output:
            self.sendCloseNotify(context: context)
            context.close(mode: .output, promise: promise)
        case .all:
            self.sendCloseNotify(context: context)
            self.end()
            context.close(mode: .all, promise: promise)
        case .input:
            context.close(mode: .input, promise: promise)
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

    private func sendCloseNotify(context: ChannelHandlerContext) {
        guard self.state == .open else { return }
        self.state = .sentCloseNotify
        self.connection.sendCloseNotify()
        self.sendOutput(context: context, promise: nil, flushing: true)
    }

    /// The peer sends no more: answer in kind and close.
    private func leave(context: ChannelHandlerContext) {
        self.sendCloseNotify(context: context)
        self.end()
        context.close(mode: .all, promise: nil)
    }

    private func fail(_ failure: TLSFailure, context: ChannelHandlerContext) {
        guard self.state != .ended else { return }
        // The alert, if libssl has made one, says the peer why.
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
