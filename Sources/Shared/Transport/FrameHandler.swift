internal import Glibc
internal import NIOCore

/// Reads and writes a channel's frames and enforces the connection's timeouts.
///
///     opening ──ready──▶ open ──not a frame──▶ violated
///        │                └────────┬────────────┘
///        │              close(), idle or frame timeout
///        │                         ▼
///        └──close()──▶ ended ◀── closing
///
///     any state ──abort(): too many pieces, stall or close timeout──▶ aborted ──▶ ended
///     any state ──channel closed──▶ ended
///
/// In *open*, frames are passed to the receiver. Reads are requested one at a time, and only while the receiver has
/// room (``InboundFrames``) and the peer is reading our answers (`isWritable`), so a peer that sends without reading
/// brings itself to a halt. In *violated*, answers can still be sent. In *closing*, close_notify has been sent and
/// inbound bytes are discarded. In *aborted*, nothing more is sent or received, and the socket is about to be closed.
///
/// Frames sent in the same tick of the event loop go out in one TLS record and one system call, together with a frame
/// that was held until then.
final class FrameHandler: ChannelInboundHandler, NIOScheduledCallbackHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case opening, open, violated, closing, aborted, ended
    }

    /// The latest time at which a frame leaves.
    enum Departure {
        case now
        /// At the end of this tick of the event loop, since more frames may soon follow.
        case endOfTick
        /// With the next frame, on ``FrameHandler/flush()`` or when the connection is closed.
        case withNext
    }

    /// A connection's timers.
    private struct Timers {
        /// Active in *open* and *violated*.
        var idle: NIOScheduledCallback?
        /// Active while we are waiting for the rest of a frame.
        var frame: Scheduled<Void>?
        /// Active while the peer is not reading the bytes we send.
        var stall: Scheduled<Void>?
        /// Active in *closing*.
        var close: Scheduled<Void>?

        mutating func cancel() {
            self.idle?.cancel()
            for timer in [self.frame, self.stall, self.close] { timer?.cancel() }
            self = Timers()
        }
    }

    private let frameLimit: TimeAmount
    private let closeLimit: TimeAmount
    private let isSecure: Bool
    /// Set once before the channel becomes active, and cleared at the end to break the reference cycle between the
    /// receiver and the handler.
    var receiver: (any FrameReceiver)?
    private var context: ChannelHandlerContext?
    private var state = State.opening
    private var failure: TLSFailure?
    private var inbound = InboundFrames()
    private var idle: IdleTimeout
    private var timers = Timers()
    /// The channel's last known writability.
    ///
    /// Channels are initially writable.
    private var isWritable = true
    private var outgoing = ByteBuffer()
    /// Memory for outgoing frames.
    ///
    /// Once the handler is in a pipeline, this is shared by the event loop.
    private var reusable = ReusableBuffer()
    private var flushIsScheduled = false

    /// - Parameters:
    ///   - idleLimit: The idle timeout, or nil if the connection may stay idle forever, as on a client.
    ///   - isSecure: Whether a ``TLSHandler`` precedes this handler.
    init(limits: TransportLimits, idleLimit: Duration?, isSecure: Bool) {
        // Keep only these two, because a copy of all limits would cost every connection 180 bytes.
        self.frameLimit = TimeAmount(limits.frame)
        self.closeLimit = TimeAmount(limits.close)
        self.idle = IdleTimeout(limit: idleLimit, callExtension: limits.frame)
        self.isSecure = isSecure
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.reusable = ReusableBuffers.of(context.eventLoop).frames
        if context.channel.isActive, !self.isSecure { self.open(nil, context: context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end()
        // Break the reference cycle: the context holds on to this handler.
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
        if let completed = event as? TLSHandshakeCompleted { self.open(completed, context: context) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // After a socket error, the channel becomes inactive anyway, so only a TLS failure is worth reporting.
        self.failure = self.failure ?? (error as? TLSFailure)
        if !(error is TLSFailure) { context.close(promise: nil) }
    }

    private func open(_ completed: TLSHandshakeCompleted?, context: ChannelHandlerContext) {
        guard self.state == .opening else { return }
        self.state = .open
        self.idle.restart(at: context.eventLoop.now)
        self.watchIdleness(on: context.eventLoop)
        self.receiver?.connectionOpened(completed)
        self.readIfWanted(context: context)
    }

    // MARK: - Inbound

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.inbound.countPiece()
        if self.state == .open {
            self.inbound.receive(self.unwrapInboundIn(data))
            self.deliverFrames(context: context)
        }
        // Abort, because a connection in *closing* keeps reading for a while.
        if self.inbound.hasTooManyPieces { self.abort() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.readIfWanted(context: context)
        context.fireChannelReadComplete()
    }

    /// Resumes once the receiver has room again.
    func resume() {
        guard let context = self.context, self.inbound.resume() else { return }
        self.deliverFrames(context: context)
        self.readIfWanted(context: context)
    }

    private func deliverFrames(context: ChannelHandlerContext) {
        do throws(FrameViolation) {
            while self.state == .open, let frame = try self.inbound.next() {
                self.idle.frameReceived()
                // The next frame gets the whole time.
                self.stopWatchingFrame()
                // Consume the frame, so that the receiver holds the only copy and can wipe it.
                let hasRoom = self.receiver?.receiveFrame(consume frame) ?? false
                self.inbound.delivered(hasRoom: hasRoom)
            }
        } catch {
            self.state = .violated
            self.receiver?.receiveViolation(error)
        }
        self.watchFrame(context: context)
        guard self.state == .open, let isHeld = self.inbound.longFrameChange() else { return }
        self.receiver?.longFrameChanged(isHeld: isHeld)
    }

    private func readIfWanted(context: ChannelHandlerContext) {
        switch self.state {
        case .open:
            if self.inbound.receiverHasRoom, self.isWritable { context.read() }
        case .closing: context.read()
        case .opening, .violated, .aborted, .ended: break
        }
    }

    // MARK: - Outbound

    /// Sends a frame, together with all frames sent earlier that have not left yet; does nothing if the connection is
    /// closing.
    ///
    /// - Parameter isUse: Whether the frame restarts the idle timeout.
    func send(_ payload: [UInt8], isUse: Bool = true, departure: Departure = .endOfTick) {
        guard let context = self.context, self.state == .open || self.state == .violated else { return }
        if self.outgoing.readableBytes == 0 {
            self.outgoing = self.reusable.take(capacity: Frame.headerByteCount + payload.count)
        }
        Frame.append(payload, to: &self.outgoing)
        self.idle.frameAnswered()
        if isUse { self.idle.restart(at: context.eventLoop.now) }
        switch departure {
        case .now: self.flush()
        case .endOfTick: self.scheduleFlush(on: context.eventLoop)
        case .withNext: break
        }
    }

    private func scheduleFlush(on eventLoop: any EventLoop) {
        guard !self.flushIsScheduled else { return }
        self.flushIsScheduled = true
        eventLoop.assumeIsolated().execute {
            self.flushIsScheduled = false
            self.flush()
        }
    }

    /// Sends the frames that have not left yet.
    func flush() {
        guard let context = self.context, self.outgoing.readableBytes > 0 else { return }
        let bytes = self.outgoing
        // Do not keep the buffer for the next answer, because it would cost every idle connection half a kilobyte.
        self.outgoing = ByteBuffer()
        self.reusable.keep(bytes)
        context.writeAndFlush(self.wrapOutboundOut(consume bytes), promise: nil)
        self.reusable.wipe()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.isWritable = context.channel.isWritable
        if self.isWritable {
            self.timers.stall?.cancel()
            self.timers.stall = nil
            self.readIfWanted(context: context)
        } else if self.timers.stall == nil {
            self.timers.stall = self.timer(self.frameLimit, context: context) { $0.abort() }
        }
        self.receiver?.writabilityChanged(self.isWritable)
        context.fireChannelWritabilityChanged()
    }

    // MARK: - Closing

    /// Sends the outgoing bytes and close_notify, then waits for the peer to close, up to ``TransportLimits/close``.
    ///
    /// Inbound bytes are read and discarded. If the socket were closed with unread bytes, the kernel would reset the
    /// connection, and the peer would lose any answers it has not read yet.
    func close() {
        guard let context = self.context else { return }
        switch self.state {
        case .open, .violated:
            self.flush()
            self.state = .closing
            self.timers.cancel()
            self.timers.close = self.timer(self.closeLimit, context: context) { $0.abort() }
            context.close(mode: .output, promise: nil)
            context.read()
        case .opening: context.close(mode: .all, promise: nil)
        case .closing, .aborted, .ended: break
        }
    }

    /// Closes the connection if TLS is not ready yet, because no task would serve it.
    func stopOpening() {
        if self.state == .opening { self.close() }
    }

    /// Ends the connection immediately.
    ///
    /// Nothing more is sent, and the kernel discards its send buffer.
    ///
    /// Invariant (G7): ``end()``, which is called when the channel has closed, notifies all tasks that are waiting for
    /// the end. It only runs after close(2) has discarded the unsent bytes.
    func abort() {
        guard let context = self.context, self.state != .ended, self.state != .aborted else { return }
        self.state = .aborted
        self.outgoing = ByteBuffer()
        self.timers.cancel()
        context.triggerUserOutboundEvent(TLSAbort(), promise: nil)
        // SO_LINGER with zero: close(2) sends a reset and discards the send buffer (socket(7)).
        (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            .whenComplete { _ in }
        context.close(mode: .all, promise: nil)
    }

    private func end() {
        guard self.state != .ended else { return }
        self.state = .ended
        self.timers.cancel()
        self.inbound = InboundFrames()
        self.receiver?.connectionEnded(self.failure)
        self.receiver = nil
    }

    // MARK: - Timeouts

    /// Replaces the idle timeout of a connection that has a session.
    func allowIdleness(of limit: Duration) { self.idle.limit = TimeAmount(limit) }

    /// Schedules a single timer that checks the deadline again when it fires, so that we do not need a timer per call.
    ///
    /// This is a callback, because a scheduled task takes 250 bytes more.
    private func watchIdleness(on eventLoop: any EventLoop) {
        guard let deadline = self.idle.deadline else { return }
        // This only fails when the event loop is shut down, which ends the connection.
        self.timers.idle = try? eventLoop.assumeIsolated().scheduleCallback(at: deadline, handler: self)
    }

    /// Closes the connection if it has been idle for too long.
    func handleScheduledCallback(eventLoop: some EventLoop) {
        guard self.state == .open || self.state == .violated, let deadline = self.idle.deadline else { return }
        if eventLoop.now >= deadline {
            self.close()
        } else {
            self.watchIdleness(on: eventLoop)
        }
    }

    /// Keeps a timer running while we are waiting for the rest of a frame.
    private func watchFrame(context: ChannelHandlerContext) {
        guard self.state == .open, self.inbound.awaitsRestOfFrame else { return self.stopWatchingFrame() }
        guard self.timers.frame == nil else { return }
        self.timers.frame = self.timer(self.frameLimit, context: context) { $0.close() }
    }

    private func stopWatchingFrame() {
        self.timers.frame?.cancel()
        self.timers.frame = nil
    }

    private func timer(
        _ limit: TimeAmount,
        context: ChannelHandlerContext,
        _ act: @escaping (FrameHandler) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: limit) { act(self) }
    }
}

/// Receives a connection's frames.
///
/// It is only ever called by a ``FrameHandler``, on the handler's event loop.
protocol FrameReceiver: AnyObject, Sendable {
    /// Called when both ends can send.
    ///
    /// If TLS is not used, `completed` is nil.
    func connectionOpened(_ completed: TLSHandshakeCompleted?)
    /// Called with a frame.
    ///
    /// Returns false if there is no room for another one until ``FrameHandler/resume()`` is called.
    ///
    /// A receiver that queues a long frame always returns false.
    func receiveFrame(_ frame: consuming [UInt8]) -> Bool
    /// Called when the received bytes are not a valid frame.
    ///
    /// No more frames will follow.
    func receiveViolation(_ violation: FrameViolation)
    /// Called when the connection starts or stops holding all or part of a long frame, but not when the connection
    /// ends.
    func longFrameChanged(isHeld: Bool)
    /// Called when the peer stops or resumes reading the bytes we send.
    func writabilityChanged(_ isWritable: Bool)
    /// Called when frames can no longer be sent or received.
    func connectionEnded(_ failure: TLSFailure?)
}

/// The inbound half of a ``FrameHandler``: bytes that do not make up a complete frame yet, and whether the receiver is
/// ready for more.
struct InboundFrames {
    /// The maximum number of pieces in which a frame may arrive.
    ///
    /// Even the longest frame only needs four TLS records.
    ///
    /// Threat: a call split into one-byte records costs libssl as much as several hundred calls, but counts as one
    /// towards the per-source limits.
    private static let maximumPieceCount = 256

    private var decoder = FrameDecoder()
    /// Whether the receiver is taking frames.
    private(set) var receiverHasRoom = true
    private var lastFrameIsLong = false
    /// Whether the last frame was a long one that the receiver has not taken yet.
    private var longFrameWaits = false
    /// The last result of ``longFrameChange()``.
    private var holdsLongFrame = false
    /// The number of reads since the last complete frame.
    private var pieceCount = 0

    mutating func countPiece() { self.pieceCount += 1 }

    /// Whether the current frame is arriving in too many pieces.
    var hasTooManyPieces: Bool { self.pieceCount > Self.maximumPieceCount }

    /// Adds bytes from the stream.
    mutating func receive(_ bytes: ByteBuffer) { self.decoder.receive(bytes) }

    /// Returns the next frame, or nil if more bytes are needed or the receiver has no room.
    ///
    /// The caller must call ``delivered(hasRoom:)`` afterwards.
    mutating func next() throws(FrameViolation) -> [UInt8]? {
        guard self.receiverHasRoom, let frame = try self.decoder.next() else { return nil }
        self.pieceCount = 0
        self.lastFrameIsLong = frame.count > Frame.longestOrdinaryByteCount
        return frame
    }

    /// Records whether the receiver still has room after the last frame.
    mutating func delivered(hasRoom: Bool) {
        self.receiverHasRoom = hasRoom
        self.longFrameWaits = !hasRoom && self.lastFrameIsLong  // rule: transport-waiting-long-frame-free
    }

    /// Records that the receiver is taking frames again; returns false if it never stopped.
    mutating func resume() -> Bool {
        guard !self.receiverHasRoom else { return false }
        self.receiverHasRoom = true
        self.longFrameWaits = false
        return true
    }

    /// Whether we are waiting for the peer to send the rest of a frame, as opposed to waiting for the receiver.
    var awaitsRestOfFrame: Bool { self.receiverHasRoom && self.decoder.isMidFrame }

    /// Returns whether all or part of a long frame is held, or nil if that has not changed since the last call.
    mutating func longFrameChange() -> Bool? {
        let isHeld = self.longFrameWaits || self.decoder.isMidFrame && self.decoder.isMidLongFrame
        guard isHeld != self.holdsLongFrame else { return nil }
        self.holdsLongFrame = isHeld
        return isHeld
    }
}

/// Decides when an idle connection is closed.
///
/// The timeout is restarted only by a useful answer, never by anything the peer sends. If a call is in progress at the
/// deadline, the deadline is extended once, by the time limit for a frame.
struct IdleTimeout {
    /// Nil if the connection may stay idle forever, as on a client.
    var limit: TimeAmount?
    private let callExtension: TimeAmount
    private var start = NIODeadline.distantPast
    /// The number of received frames that have not been answered yet.
    private var unansweredCount = 0

    init(limit: Duration?, callExtension: Duration) {
        self.limit = limit.map(TimeAmount.init)
        self.callExtension = TimeAmount(callExtension)
    }

    /// The time to close the connection, or nil if it should stay open.
    var deadline: NIODeadline? {
        self.limit.map { self.start + $0 + (self.unansweredCount > 0 ? self.callExtension : .zero) }
    }

    /// Restarts the timeout because the connection was opened or a useful answer was sent.
    mutating func restart(at now: NIODeadline) { self.start = now }

    mutating func frameReceived() { self.unansweredCount += 1 }

    mutating func frameAnswered() { self.unansweredCount = max(0, self.unansweredCount - 1) }
}
