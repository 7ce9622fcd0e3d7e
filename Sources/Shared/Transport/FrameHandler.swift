internal import Glibc
internal import NIOCore

/// Who takes the frames of one connection; called on its event loop only.
protocol FrameReceiver: AnyObject, Sendable {
    /// Both ends can send; nil where there is no TLS.
    func connectionOpened(_ opened: TLSOpened?)
    /// A frame; false when no more should come until ``FrameHandler/resume()``, as always when a long one has to wait.
    func receiveFrame(_ frame: consuming [UInt8]) -> Bool
    /// What arrived is not a frame; nothing more will be received.
    func receiveViolation(_ violation: FrameViolation)
    /// Whether a long frame or the beginning of one is held now; not told when the connection ends.
    func longFrameChanged(isHeld: Bool)
    /// Whether what is sent is taken by the peer at present.
    func writabilityChanged(_ isWritable: Bool)
    /// Nothing can be sent or received any more.
    func connectionEnded(_ failure: TLSFailure?)
}

/// Frames on one channel, in and out, with the time limits of a connection.
///
/// Reads are asked for one at a time, and only while the receiver takes frames and the peer takes answers: a peer that
/// sends without reading stops itself. Idle, slow and unreading peers are closed. What is sent in one turn of the event
/// loop leaves as one TLS record and one system call.
final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        /// TLS is not ready.
        case opening
        case open
        /// What arrived was not a frame; answers may still be sent.
        case violated
        /// Our end is closed; what arrives is dropped until the peer's is.
        case closing
        /// Nothing is sent or taken any more; the socket is about to be closed.
        case aborted
        case ended
    }

    /// Pieces that a frame may come in; the longest one has four TLS records.
    ///
    /// Threat: a call in records of one byte costs libssl as much as some hundreds of calls, and limits of a source count calls.
    private static let mostPieces = 256

    private let limits: TransportLimits
    private let isSecure: Bool
    /// Set once, before the channel is active; let go at the end, so that the two do not hold each other for ever.
    var receiver: (any FrameReceiver)?
    private var context: ChannelHandlerContext?
    private var phase = Phase.opening
    private var decoder = FrameDecoder()
    private var receiverHasRoom = true
    /// The last frame is a long one and waits for the receiver.
    private var longFrameWaits = false
    private var holdsLongFrame = false
    /// How often something has arrived since the last whole frame.
    private var pieces = 0
    /// As the channel said last; a channel is writable when it begins.
    private var isWritable = true
    private var outgoing = ByteBuffer()
    /// Memory for what is sent; the event loop's, from when the handler is in a channel.
    private var spare = SpareBuffer()
    private var flushIsDue = false
    private var failure: TLSFailure?
    private var idleLimit: TimeAmount?
    /// When the connection was opened or had its last useful answer.
    private var lastUse = NIODeadline.distantPast
    /// Frames that were given and not answered yet.
    private var unanswered = 0
    private var idleTimer: Scheduled<Void>?
    private var frameTimer: Scheduled<Void>?
    private var stallTimer: Scheduled<Void>?
    private var farewellTimer: Scheduled<Void>?

    /// - Parameters:
    ///   - idleLimit: nil where the connection may be idle for ever, as a client's.
    ///   - isSecure: whether a ``TLSHandler`` stands before this one.
    init(limits: TransportLimits, idleLimit: Duration?, isSecure: Bool) {
        self.limits = limits
        self.idleLimit = idleLimit.map(TimeAmount.init)
        self.isSecure = isSecure
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.spare = SpareBuffers.of(context.eventLoop).frames
        if context.channel.isActive, !self.isSecure { self.open(nil, context: context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end()
        // The context holds this handler.
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        if !self.isSecure { self.open(nil, context: context) }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let opened = event as? TLSOpened { self.open(opened, context: context) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A socket's error is followed by its end; only TLS has a reason worth telling.
        self.failure = self.failure ?? (error as? TLSFailure)
        if !(error is TLSFailure) { context.close(promise: nil) }
    }

    private func open(_ opened: TLSOpened?, context: ChannelHandlerContext) {
        guard self.phase == .opening else { return }
        self.phase = .open
        self.lastUse = context.eventLoop.now
        self.watchIdleness(context: context)
        self.receiver?.connectionOpened(opened)
        self.readIfWanted(context: context)
    }

    // MARK: - What comes in

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.pieces += 1
        if self.phase == .open {
            self.decoder.receive(self.unwrapInboundIn(data))
            self.cutFrames(context: context)
        }
        // Cut at once: a connection that is being closed reads on for a while.
        if self.pieces > Self.mostPieces { self.abort() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.readIfWanted(context: context)
        context.fireChannelReadComplete()
    }

    /// The receiver has room again.
    func resume() {
        guard let context = self.context, !self.receiverHasRoom else { return }
        self.receiverHasRoom = true
        self.longFrameWaits = false
        self.cutFrames(context: context)
        self.readIfWanted(context: context)
    }

    private func cutFrames(context: ChannelHandlerContext) {
        do throws(FrameViolation) {
            while self.phase == .open, self.receiverHasRoom, let frame = try self.decoder.next() {
                self.unanswered += 1
                self.pieces = 0
                let isLong = frame.count > Frame.longestOrdinaryByteCount
                // Given away: whoever wipes it must be the only one who has it.
                self.receiverHasRoom = self.receiver?.receiveFrame(consume frame) ?? false
                self.longFrameWaits = !self.receiverHasRoom && isLong
            }
        } catch {
            self.phase = .violated
            self.receiver?.receiveViolation(error)
        }
        self.watchFrame(context: context)
        let holdsLongFrame = self.longFrameWaits || self.decoder.isMidFrame && self.decoder.isMidLongFrame
        guard holdsLongFrame != self.holdsLongFrame, self.phase == .open else { return }
        self.holdsLongFrame = holdsLongFrame
        self.receiver?.longFrameChanged(isHeld: holdsLongFrame)
    }

    private func readIfWanted(context: ChannelHandlerContext) {
        switch self.phase {
        case .open:
            if self.receiverHasRoom, self.isWritable { context.read() }
        case .closing:
            context.read()
        case .opening, .violated, .aborted, .ended:
            break
        }
    }

    // MARK: - What goes out

    /// Sends one frame, at once or at the end of this turn of the event loop; nothing once the connection is closing.
    ///
    /// - Parameters:
    ///   - isUse: whether the time in which the connection may be idle begins anew.
    ///   - mayWait: whether more is about to be sent that can leave in the same record.
    func send(_ payload: [UInt8], isUse: Bool = true, mayWait: Bool = true) {
        guard let context = self.context, self.phase == .open || self.phase == .violated else { return }
        if self.outgoing.readableBytes == 0 {
            self.outgoing = self.spare.take(capacity: Frame.headerByteCount + payload.count)
        }
        Frame.append(payload, to: &self.outgoing)
        self.unanswered = max(0, self.unanswered - 1)
        if isUse { self.lastUse = context.eventLoop.now }
        guard mayWait else { return self.flush() }
        guard !self.flushIsDue else { return }
        self.flushIsDue = true
        context.eventLoop.assumeIsolated().execute {
            self.flushIsDue = false
            self.flush()
        }
    }

    private func flush() {
        guard let context = self.context, self.outgoing.readableBytes > 0 else { return }
        let bytes = self.outgoing
        // Not kept for the next answer, which would cost every idle connection half a kilobyte.
        self.outgoing = ByteBuffer()
        self.spare.keep(bytes)
        context.writeAndFlush(self.wrapOutboundOut(consume bytes), promise: nil)
        self.spare.wipe()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.isWritable = context.channel.isWritable
        if self.isWritable {
            self.stallTimer?.cancel()
            self.stallTimer = nil
            self.readIfWanted(context: context)
        } else if self.stallTimer == nil {
            self.stallTimer = self.timer(self.limits.frame, context: context) { $0.abort() }
        }
        self.receiver?.writabilityChanged(self.isWritable)
        context.fireChannelWritabilityChanged()
    }

    // MARK: - Ends

    /// Sends what there is to send, then says goodbye and waits for the peer to do the same, but not for long.
    ///
    /// What still arrives is read and dropped: closing a socket with unread bytes makes the system reset the connection,
    /// and the peer would lose the answers that it has not read yet.
    func close() {
        guard let context = self.context else { return }
        switch self.phase {
        case .open, .violated:
            self.flush()
            self.phase = .closing
            self.cancelTimers()
            self.farewellTimer = self.timer(self.limits.farewell, context: context) { $0.abort() }
            context.close(mode: .output, promise: nil)
            context.read()
        case .opening:
            context.close(mode: .all, promise: nil)
        case .closing, .aborted, .ended:
            break
        }
    }

    /// Closes the connection if TLS is not ready yet; no task would be there for it.
    func stopOpening() {
        if self.phase == .opening { self.close() }
    }

    /// Ends the connection at once: nothing more leaves, and what the system still holds for it is thrown away.
    ///
    /// Invariant (G7): whoever waits for the end is told by ``end()``, which the closed channel calls: not before
    /// close(2) has thrown away what the peer has not been sent yet.
    func abort() {
        guard let context = self.context, self.phase != .ended, self.phase != .aborted else { return }
        self.phase = .aborted
        self.outgoing = ByteBuffer()
        self.cancelTimers()
        context.triggerUserOutboundEvent(TLSSilence(), promise: nil)
        // SO_LINGER with zero: close(2) sends a reset and discards the send buffer (socket(7)).
        (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            .whenComplete { _ in }
        context.close(mode: .all, promise: nil)
    }

    private func end() {
        guard self.phase != .ended else { return }
        self.phase = .ended
        self.cancelTimers()
        self.decoder = FrameDecoder()
        self.receiver?.connectionEnded(self.failure)
        self.receiver = nil
    }

    // MARK: - Time

    /// A session has begun, so the connection may be idle for longer.
    func allowIdleness(of limit: Duration) {
        self.idleLimit = TimeAmount(limit)
    }

    /// One timer that looks again when it fires, so that calls cost no timers of their own.
    ///
    /// What a peer sends keeps nothing open, only what it is usefully answered; a call that is being answered at the end
    /// of the time has as long as a frame may take.
    private func watchIdleness(context: ChannelHandlerContext) {
        guard let end = self.idleEnd else { return }
        self.idleTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: end) {
            guard self.phase == .open || self.phase == .violated, let end = self.idleEnd else { return }
            if context.eventLoop.now >= end {
                self.close()
            } else {
                self.watchIdleness(context: context)
            }
        }
    }

    private var idleEnd: NIODeadline? {
        self.idleLimit.map { self.lastUse + $0 + (self.unanswered > 0 ? TimeAmount(self.limits.frame) : .zero) }
    }

    /// Keeps a timer while the peer owes the rest of a frame; not while it is we who do not take it.
    private func watchFrame(context: ChannelHandlerContext) {
        guard self.phase == .open, self.receiverHasRoom, self.decoder.isMidFrame else {
            self.frameTimer?.cancel()
            self.frameTimer = nil
            return
        }
        guard self.frameTimer == nil else { return }
        self.frameTimer = self.timer(self.limits.frame, context: context) { $0.close() }
    }

    private func timer(
        _ limit: Duration,
        context: ChannelHandlerContext,
        _ act: @escaping (FrameHandler) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { act(self) }
    }

    private func cancelTimers() {
        for timer in [self.idleTimer, self.frameTimer, self.stallTimer, self.farewellTimer] { timer?.cancel() }
        self.idleTimer = nil
        self.frameTimer = nil
        self.stallTimer = nil
        self.farewellTimer = nil
    }
}
