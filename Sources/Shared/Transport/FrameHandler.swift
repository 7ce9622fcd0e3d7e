internal import Glibc
internal import NIOCore

/// Frames on one channel, inbound and outbound, with the timeouts of a connection.
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
/// In *open*, frames go to the receiver and reads are requested one at a time, and only while the
/// receiver has room (``InboundFrames``) and the peer takes answers (`isWritable`): a peer that
/// sends without reading stops itself. In *violated*, answers can still be sent. In *closing*,
/// close_notify has been sent and inbound bytes are discarded. In *aborted*, nothing is sent or
/// received and the socket is about to close.
///
/// Frames that are sent in one tick of the event loop leave as one TLS record and one system call.
final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case opening
        case open
        case violated
        case closing
        case aborted
        case ended
    }

    /// The timers of a connection.
    private struct Timers {
        /// Runs in open and violated.
        var idle: Scheduled<Void>?
        /// Runs while the peer owes the rest of a frame.
        var frame: Scheduled<Void>?
        /// Runs while the peer does not take the bytes that are sent.
        var stall: Scheduled<Void>?
        /// Runs in closing.
        var close: Scheduled<Void>?

        mutating func cancel() {
            for timer in [self.idle, self.frame, self.stall, self.close] { timer?.cancel() }
            self = Timers()
        }
    }

    private let limits: TransportLimits
    private let isSecure: Bool
    /// Set once, before the channel is active, and released at the end, since receiver and handler
    /// hold each other.
    var receiver: (any FrameReceiver)?
    private var context: ChannelHandlerContext?
    private var state = State.opening
    private var failure: TLSFailure?
    private var inbound = InboundFrames()
    private var idle: IdleTimeout
    private var timers = Timers()
    /// The last known state of the channel, which is writable at first.
    private var isWritable = true
    private var outgoing = ByteBuffer()
    /// Memory for outgoing frames; the event loop's, once the handler is in a pipeline.
    private var reusable = ReusableBuffer()
    private var flushIsScheduled = false

    /// - Parameters:
    ///   - idleLimit: The idle timeout; nil if the connection may be idle without limit, as on a client.
    ///   - isSecure: True if a ``TLSHandler`` precedes this handler.
    init(limits: TransportLimits, idleLimit: Duration?, isSecure: Bool) {
        self.limits = limits
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
        // The context refers to this handler.
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
        // A socket error is followed by the end of the channel; only a TLS failure has a reason to report.
        self.failure = self.failure ?? (error as? TLSFailure)
        if !(error is TLSFailure) { context.close(promise: nil) }
    }

    private func open(_ completed: TLSHandshakeCompleted?, context: ChannelHandlerContext) {
        guard self.state == .opening else { return }
        self.state = .open
        self.idle.restart(at: context.eventLoop.now)
        self.watchIdleness(context: context)
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
        // An abort, since a connection in closing continues to read for a while.
        if self.inbound.hasTooManyPieces { self.abort() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.readIfWanted(context: context)
        context.fireChannelReadComplete()
    }

    /// Continues after the receiver had no room.
    func resume() {
        guard let context = self.context, self.inbound.resume() else { return }
        self.deliverFrames(context: context)
        self.readIfWanted(context: context)
    }

    private func deliverFrames(context: ChannelHandlerContext) {
        do throws(FrameViolation) {
            while self.state == .open, let frame = try self.inbound.next() {
                self.idle.frameReceived()
                // Consumed, so that the receiver has the only copy and can wipe it.
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
        case .closing:
            context.read()
        case .opening, .violated, .aborted, .ended:
            break
        }
    }

    // MARK: - Outbound

    /// Sends one frame, immediately or at the end of this tick of the event loop; does nothing once
    /// the connection is closing.
    ///
    /// - Parameters:
    ///   - isUse: True if the frame restarts the idle timeout.
    ///   - mayWait: True if further frames follow soon that can leave in the same record.
    func send(_ payload: [UInt8], isUse: Bool = true, mayWait: Bool = true) {
        guard let context = self.context, self.state == .open || self.state == .violated else { return }
        if self.outgoing.readableBytes == 0 {
            self.outgoing = self.reusable.take(capacity: Frame.headerByteCount + payload.count)
        }
        Frame.append(payload, to: &self.outgoing)
        self.idle.frameAnswered()
        if isUse { self.idle.restart(at: context.eventLoop.now) }
        guard mayWait else { return self.flush() }
        guard !self.flushIsScheduled else { return }
        self.flushIsScheduled = true
        context.eventLoop.assumeIsolated().execute {
            self.flushIsScheduled = false
            self.flush()
        }
    }

    private func flush() {
        guard let context = self.context, self.outgoing.readableBytes > 0 else { return }
        let bytes = self.outgoing
        // Not kept for the next answer, which would cost every idle connection half a kilobyte.
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
            self.timers.stall = self.timer(self.limits.frame, context: context) { $0.abort() }
        }
        self.receiver?.writabilityChanged(self.isWritable)
        context.fireChannelWritabilityChanged()
    }

    // MARK: - Closing

    /// Sends the outgoing bytes and close_notify, then waits for the peer to close, up to
    /// ``TransportLimits/close``.
    ///
    /// Inbound bytes are read and discarded: closing a socket with unread bytes makes the kernel
    /// reset the connection, and the peer would lose the answers that it has not read yet.
    func close() {
        guard let context = self.context else { return }
        switch self.state {
        case .open, .violated:
            self.flush()
            self.state = .closing
            self.timers.cancel()
            self.timers.close = self.timer(self.limits.close, context: context) { $0.abort() }
            context.close(mode: .output, promise: nil)
            context.read()
        case .opening:
            context.close(mode: .all, promise: nil)
        case .closing, .aborted, .ended:
            break
        }
    }

    /// Closes the connection if TLS is not ready yet, when no task would serve it.
    func stopOpening() {
        if self.state == .opening { self.close() }
    }

    /// Ends the connection at once: no further byte leaves, and the kernel discards its send buffer.
    ///
    /// Invariant (G7): ``end()``, which the closed channel calls, notifies those that wait for the
    /// end. It runs only after close(2) has discarded the bytes that were not sent yet.
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

    /// Replaces the idle timeout, for a connection with a session.
    func allowIdleness(of limit: Duration) {
        self.idle.limit = TimeAmount(limit)
    }

    /// Schedules one timer, which checks the deadline again when it fires, so that a call costs no timer.
    private func watchIdleness(context: ChannelHandlerContext) {
        guard let deadline = self.idle.deadline else { return }
        self.timers.idle = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            guard self.state == .open || self.state == .violated, let deadline = self.idle.deadline else { return }
            if context.eventLoop.now >= deadline {
                self.close()
            } else {
                self.watchIdleness(context: context)
            }
        }
    }

    /// Keeps a timer while the peer owes the rest of a frame.
    private func watchFrame(context: ChannelHandlerContext) {
        guard self.state == .open, self.inbound.awaitsRestOfFrame else {
            self.timers.frame?.cancel()
            self.timers.frame = nil
            return
        }
        guard self.timers.frame == nil else { return }
        self.timers.frame = self.timer(self.limits.frame, context: context) { $0.close() }
    }

    private func timer(
        _ limit: Duration,
        context: ChannelHandlerContext,
        _ act: @escaping (FrameHandler) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { act(self) }
    }
}
