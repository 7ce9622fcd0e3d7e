internal import NIOCore
internal import Synchronization
internal import Vocabulary

/// Frames on one connection for a task that takes and sends them one by one.
///
/// A queue of our own instead of NIOAsyncChannel: frames are cut only while there is room, an answer that can be sent
/// at once is sent without suspending, and a connection can be cut so that nothing more leaves.
final class FrameChannel: FrameReceiver {
    /// What ``next()`` gives.
    enum Event: Sendable {
        case frame([UInt8])
        case violation(FrameViolation)
        /// Nothing more comes: the peer left, the connection was closed, or the listener stops.
        case ended
    }

    private let state = Mutex(State())
    let channel: any Channel
    private let eventLoop: any EventLoop
    private let handler: NIOLoopBound<FrameHandler>
    private let limits: TransportLimits
    private let onOpen: @Sendable (FrameChannel, TLSHandshakeCompleted?) -> Void
    private let onLongFrame: @Sendable (_ isHeld: Bool) -> Void
    private let onFailure: @Sendable (TLSFailure) -> Void

    /// The peer's address for logs.
    let peer: String
    /// What limits for each source count this connection under.
    let source: PeerSource

    /// Adds the handler of frames to the end of the channel's pipeline, on the channel's event loop.
    ///
    /// - Parameters:
    ///   - peer: its address where that is not the socket's other end.
    ///   - onOpen: called once, on the event loop, when calls can come.
    ///   - onLongFrame: called, on the event loop, when a long frame or the beginning of one is held and when no longer,
    ///     except at the connection's end.
    ///   - onFailure: called at most once, when TLS failed.
    init(
        on channel: any Channel,
        peer: SocketAddress?,
        limits: TransportLimits,
        isSecure: Bool,
        onOpen: @escaping @Sendable (FrameChannel, TLSHandshakeCompleted?) -> Void,
        onLongFrame: @escaping @Sendable (_ isHeld: Bool) -> Void = { _ in },
        onFailure: @escaping @Sendable (TLSFailure) -> Void
    ) throws {
        let handler = FrameHandler(limits: limits, idleLimit: limits.idleWithoutSession, isSecure: isSecure)
        self.channel = channel
        self.eventLoop = channel.eventLoop
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.limits = limits
        self.onOpen = onOpen
        self.onLongFrame = onLongFrame
        self.onFailure = onFailure
        self.peer = peer.map(\.logText) ?? "unknown"
        self.source = PeerSource(peer)
        handler.receiver = self
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    // MARK: - What a task does

    /// The next frame, in the order they came; one task at a time may ask.
    ///
    /// Frames that wait when the connection ends are dropped: nobody is there for their answers. Whoever runs the task has
    /// ``finish()`` called when it is cancelled; a handler for each frame would cost more than the frame.
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

    /// Sends one frame, waiting while the peer does not take what was sent before; false when the connection has ended.
    ///
    /// True says that the frame was taken over, not that it arrived.
    ///
    /// - Parameter isUse: whether the time in which the connection may be idle begins anew.
    func send(_ payload: [UInt8], isUse: Bool = true) async -> Bool {
        // The answers to calls that wait already may leave together.
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

    /// Lets the connection be idle for longer.
    func allowIdleness(of limit: Duration) {
        self.onLoop { $0.allowIdleness(of: limit) }
    }

    /// Ends the connection in an orderly way: what was sent before arrives.
    func close() {
        self.finish()
        self.onLoop { $0.close() }
    }

    /// Ends the connection at once; once ``closed()`` has returned, nothing more leaves.
    func abort() {
        self.end()
        self.onLoop { $0.abort() }
    }

    /// Gives no more frames; what is being answered can still be sent.
    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            state.frames.removeAll()
            return state.waiter.take()
        }
        waiter?.resume(returning: .ended)
    }

    /// As ``finish()``; a connection that is not open yet is closed.
    func stop() {
        self.finish()
        self.onLoop { $0.stopOpening() }
    }

    /// Waits until the connection has ended on both sides.
    func closed() async {
        // The future never fails: NIO succeeds it whatever closed the channel.
        try? await self.channel.closeFuture.get()
    }

    /// Where tasks of this connection run best.
    var executor: EventLoopTaskExecutor { .of(self.eventLoop) }

    /// Which event loop it lives on.
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

    // MARK: - What the handler tells

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
    /// What waits between the event loop and the task.
    private struct State {
        /// Bytes that may wait before reading stops.
        static let longestWait = 2 * Frame.longestOrdinaryByteCount

        var frames = CircularBuffer<[UInt8]>()
        var waitingByteCount = 0
        /// Reading has stopped because too much waits.
        var isPaused = false
        var violation: FrameViolation?
        /// No frames are given any more.
        var isFinished = false
        /// Nothing can be sent any more.
        var isEnded = false
        var isWritable = true
        var waiter: CheckedContinuation<Event, Never>?
        var senders: [CheckedContinuation<Bool, Never>] = []

        /// Queues a frame; false when reading should stop.
        mutating func add(_ frame: [UInt8], limits: TransportLimits) -> Bool {
            self.frames.append(frame)
            self.waitingByteCount += frame.count
            self.isPaused =
                self.frames.count >= limits.maxInFlight || self.waitingByteCount >= Self.longestWait
                || frame.count > Frame.longestOrdinaryByteCount
            return !self.isPaused
        }

        /// What can be given without waiting.
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

        /// True once when reading should go on: half of what may wait is gone.
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
    /// Address and port as operators write them.
    var logText: String {
        guard let address = self.ipAddress else { return "local" }
        return address.contains(":") ? "[\(address)]:\(self.port ?? 0)" : "\(address):\(self.port ?? 0)"
    }
}
