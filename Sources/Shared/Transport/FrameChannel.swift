internal import NIOCore
internal import Synchronization
internal import Vocabulary

/// The frames of one connection for a task that receives and sends them one by one.
///
/// Replaces NIOAsyncChannel for three reasons: frames are decoded only while the queue has room, an
/// answer that can be sent immediately is sent without suspending, and a connection can be aborted
/// so that no further byte leaves.
final class FrameChannel: FrameReceiver {
    /// The result of ``next()``.
    enum Event: Sendable {
        case frame([UInt8])
        case violation(FrameViolation)
        /// No further frame comes: the peer left, the connection was closed, or the listener stops.
        case ended
    }

    private let state = Mutex(State())
    let channel: any Channel
    private let eventLoop: any EventLoop
    private let handler: NIOLoopBound<FrameHandler>
    private let limits: TransportLimits
    private let onOpen: @Sendable (FrameChannel, TLSHandshakeCompleted?) -> Void
    private let onSession: @Sendable (_ isOpen: Bool) -> Void
    private let onLongFrame: @Sendable (_ isHeld: Bool) -> Void
    private let onFailure: @Sendable (TLSFailure) -> Void

    private let address: SocketAddress?
    /// The peer's address for logs.
    var peer: String { self.address.map(\.logText) ?? "unknown" }
    /// The source under which the per-source limits count this connection.
    let source: PeerSource

    /// Adds the frame handler to the end of the channel's pipeline; called on the channel's event loop.
    ///
    /// - Parameters:
    ///   - peer: The address of the peer, which differs from that of the socket behind a load balancer.
    ///   - onOpen: Called once, on the event loop, when the connection is ready for calls.
    ///   - onSession: Called when a session begins or ends, except at the end of the connection.
    ///   - onLongFrame: Called, on the event loop, when the connection starts or stops holding a
    ///     long frame or its beginning, except at the end of the connection.
    ///   - onFailure: Called at most once, when TLS failed.
    init(
        on channel: any Channel,
        peer: SocketAddress?,
        limits: TransportLimits,
        isSecure: Bool,
        onOpen: @escaping @Sendable (FrameChannel, TLSHandshakeCompleted?) -> Void,
        onSession: @escaping @Sendable (_ isOpen: Bool) -> Void = { _ in },
        onLongFrame: @escaping @Sendable (_ isHeld: Bool) -> Void = { _ in },
        onFailure: @escaping @Sendable (TLSFailure) -> Void
    ) throws {
        let handler = FrameHandler(limits: limits, idleLimit: limits.idleWithoutSession, isSecure: isSecure)
        self.channel = channel
        self.eventLoop = channel.eventLoop
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.limits = limits
        self.onOpen = onOpen
        self.onSession = onSession
        self.onLongFrame = onLongFrame
        self.onFailure = onFailure
        self.address = peer
        self.source = PeerSource(peer)
        handler.receiver = self
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    // MARK: - For the task

    /// Waits for the next frame, in the order of arrival; one task at a time may wait.
    ///
    /// Queued frames are dropped when the connection ends, since their answers could not be sent.
    /// The owner of the task calls ``finish()`` on cancellation; a cancellation handler for each
    /// frame would cost more than the frame.
    func next() async -> Event {
        if let event = self.takeNow() { return event }
        return await withCheckedContinuation { continuation in
            let event: Event? = self.state.withLock { state in
                if let event = state.take(limits: self.limits) { return event }
                precondition(state.waiter == nil, "one task at a time takes frames")
                state.waiter = continuation
                return nil
            }
            if let event { continuation.resume(returning: event) }
        }
    }

    private func takeNow() -> Event? {
        let (event, resumes) = self.state.withLock { state in
            let event = state.take(limits: self.limits)
            return (event, state.endPause(limits: self.limits))
        }
        if resumes { self.onLoop { $0.resume() } }
        return event
    }

    /// Sends one frame, waiting while the peer does not take earlier bytes; returns false if the
    /// connection has ended.
    ///
    /// True means that the frame was queued, not that it arrived.
    ///
    /// - Parameter isUse: True if the frame restarts the idle timeout.
    func send(_ payload: [UInt8], isUse: Bool = true) async -> Bool {
        // The answers to queued calls may leave together.
        let (isEnded, isWritable, mayWait) = self.state.withLock { ($0.isEnded, $0.isWritable, !$0.frames.isEmpty) }
        guard !isEnded else { return false }
        if self.eventLoop.inEventLoop {
            self.handler.value.send(payload, isUse: isUse, mayWait: mayWait)
        } else {
            self.onLoop { $0.send(payload, isUse: isUse, mayWait: mayWait) }
        }
        guard !isWritable else { return true }
        return await withCheckedContinuation { continuation in
            let answer: Bool? = self.state.withLock { state in
                if state.isEnded { return false }
                if state.isWritable { return true }
                state.senders.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Replaces the idle timeout.
    func allowIdleness(of limit: Duration) {
        self.onLoop { $0.allowIdleness(of: limit) }
    }

    /// Reports that a session begins or ends.
    func sessionChanged(isOpen: Bool) {
        self.onSession(isOpen)
    }

    /// Closes the connection gracefully: earlier frames still arrive.
    func close() {
        self.finish()
        self.onLoop { $0.close() }
    }

    /// Ends the connection at once; after ``closed()`` has returned, no further byte leaves.
    func abort() {
        self.end()
        self.onLoop { $0.abort() }
    }

    /// Delivers no more frames; pending answers can still be sent.
    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            state.frames.removeAll()
            return state.waiter.take()
        }
        waiter?.resume(returning: .ended)
    }

    /// Delivers no more frames, as ``finish()`` does, and closes a connection that is not open yet.
    func stop() {
        self.finish()
        self.onLoop { $0.stopOpening() }
    }

    /// Waits until the connection has ended on both sides.
    func closed() async {
        // The future never fails: NIO fulfills it however the channel was closed.
        try? await self.channel.closeFuture.get()
    }

    /// The executor of the connection's event loop, for its tasks.
    var executor: EventLoopTaskExecutor { .of(self.eventLoop) }

    /// The identity of the connection's event loop.
    var eventLoopID: ObjectIdentifier { ObjectIdentifier(self.eventLoop) }

    private func onLoop(_ act: @escaping @Sendable (FrameHandler) -> Void) {
        if self.eventLoop.inEventLoop {
            act(self.handler.value)
        } else {
            self.eventLoop.execute { act(self.handler.value) }
        }
    }

    private func end() {
        let (waiter, senders) = self.state.withLock { state in
            state.isEnded = true
            state.isFinished = true
            state.frames.removeAll()
            defer { state.senders = [] }
            return (state.waiter.take(), state.senders)
        }
        waiter?.resume(returning: .ended)
        for sender in senders { sender.resume(returning: false) }
    }

    // MARK: - For the handler

    func connectionOpened(_ opened: TLSHandshakeCompleted?) {
        self.onOpen(self, opened)
    }

    func receiveFrame(_ frame: consuming [UInt8]) -> Bool {
        let (waiter, hasRoom) = self.state.withLock { state in
            guard !state.isFinished else { return (CheckedContinuation<Event, Never>?.none, false) }
            if let waiter = state.waiter.take() { return (waiter, true) }
            return (nil, state.add(frame, limits: self.limits))
        }
        waiter?.resume(returning: .frame(frame))
        return hasRoom
    }

    func receiveViolation(_ violation: FrameViolation) {
        let waiter = self.state.withLock { state in
            if let waiter = state.waiter.take() { return Optional(waiter) }
            state.violation = violation
            return nil
        }
        waiter?.resume(returning: .violation(violation))
    }

    func longFrameChanged(isHeld: Bool) {
        self.onLongFrame(isHeld)
    }

    func writabilityChanged(_ isWritable: Bool) {
        let senders = self.state.withLock { state in
            state.isWritable = isWritable
            guard isWritable else { return [CheckedContinuation<Bool, Never>]() }
            defer { state.senders = [] }
            return state.senders
        }
        for sender in senders { sender.resume(returning: true) }
    }

    func connectionEnded(_ failure: TLSFailure?) {
        self.end()
        if let failure { self.onFailure(failure) }
    }
}

extension FrameChannel {
    /// The queue between the event loop and the task.
    private struct State {
        /// The number of queued bytes at which reading stops.
        static let longestWait = 2 * Frame.longestOrdinaryByteCount

        var frames = CircularBuffer<[UInt8]>()
        var waitingByteCount = 0
        /// Reading has stopped because the queue is full.
        var isPaused = false
        var violation: FrameViolation?
        /// No more frames are delivered.
        var isFinished = false
        /// No more frames can be sent.
        var isEnded = false
        var isWritable = true
        var waiter: CheckedContinuation<Event, Never>?
        var senders: [CheckedContinuation<Bool, Never>] = []

        /// Queues a frame; returns false if reading should stop.
        mutating func add(_ frame: [UInt8], limits: TransportLimits) -> Bool {
            self.frames.append(frame)
            self.waitingByteCount += frame.count
            self.isPaused =
                self.frames.count >= limits.maxInFlight || self.waitingByteCount >= Self.longestWait
                || frame.count > Frame.longestOrdinaryByteCount
            return !self.isPaused
        }

        /// The next event, if one is available without waiting.
        mutating func take(limits: TransportLimits) -> Event? {
            guard !self.isFinished else { return .ended }
            if let frame = self.frames.popFirst() {
                self.waitingByteCount -= frame.count
                return .frame(frame)
            }
            guard let violation = self.violation else { return nil }
            self.violation = nil
            return .violation(violation)
        }

        /// Returns true once if reading should resume: the queue is at most half full.
        mutating func endPause(limits: TransportLimits) -> Bool {
            guard self.isPaused, self.frames.count <= limits.maxInFlight / 2,
                self.waitingByteCount <= Self.longestWait / 2
            else { return false }
            self.isPaused = false
            return true
        }
    }
}

extension SocketAddress {
    /// The address and port as text for logs.
    var logText: String {
        guard let address = self.ipAddress else { return "local" }
        return address.contains(":") ? "[\(address)]:\(self.port ?? 0)" : "\(address):\(self.port ?? 0)"
    }
}
