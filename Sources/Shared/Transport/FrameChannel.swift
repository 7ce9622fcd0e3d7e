internal import NIOCore
internal import Synchronization

/// Lets a task receive and send a connection's frames one at a time.
///
/// We use this instead of NIOAsyncChannel for three reasons: frames are decoded only while there is room in the queue,
/// an answer that can be sent immediately is sent without suspending, and a connection can be aborted so that not a
/// single further byte is sent.
final class FrameChannel: FrameReceiver {
    /// The result of ``next()``.
    enum Event: Sendable {
        case frame([UInt8])
        case violation(FrameViolation)
        /// No more frames will arrive, because the peer disconnected, the connection was closed, or the listener is
        /// stopping.
        case ended
    }

    private let state = Mutex(State())
    let channel: any Channel
    private let eventLoop: any EventLoop
    private let handler: NIOLoopBound<FrameHandler>
    private let maxInFlight: Int
    private let onOpen: @Sendable (FrameChannel, TLSHandshakeCompleted?) -> Void
    private let onProtection: @Sendable (_ isProtected: Bool) -> Void
    private let onLongFrame: @Sendable (_ isHeld: Bool) -> Void
    private let onFailure: @Sendable (TLSFailure) -> Void

    private let address: SocketAddress?
    /// The peer's address, for logs.
    var peer: String { self.address.map(\.logText) ?? "unknown" }
    /// The source that this connection is counted towards for the per-source limits.
    let source: PeerSource

    /// Adds the frame handler to the end of the channel's pipeline.
    ///
    /// Must be called on the channel's event loop.
    ///
    /// - Parameters:
    ///   - peer: The peer's address. Behind a load balancer, this is not the socket's remote address.
    ///   - onOpen: Called once, on the event loop, when the connection is ready for calls.
    ///   - onProtection: Called when the connection gains or loses protection from being displaced in a full table.
    ///   - onLongFrame: Called on the event loop when the connection starts or stops holding all or part of a long
    ///     frame, but not when the connection ends.
    ///   - onFailure: Called at most once, if TLS fails.
    init(
        on channel: any Channel,
        peer: SocketAddress?,
        limits: TransportLimits,
        isSecure: Bool,
        onOpen: @escaping @Sendable (FrameChannel, TLSHandshakeCompleted?) -> Void,
        onProtection: @escaping @Sendable (_ isProtected: Bool) -> Void = { _ in },
        onLongFrame: @escaping @Sendable (_ isHeld: Bool) -> Void = { _ in },
        onFailure: @escaping @Sendable (TLSFailure) -> Void
    ) throws {
        let handler = FrameHandler(limits: limits, idleLimit: limits.idleWithoutSession, isSecure: isSecure)
        self.channel = channel
        self.eventLoop = channel.eventLoop
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.maxInFlight = limits.maxInFlight
        self.onOpen = onOpen
        self.onProtection = onProtection
        self.onLongFrame = onLongFrame
        self.onFailure = onFailure
        self.address = peer
        self.source = PeerSource(peer)
        handler.receiver = self
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    // MARK: - For the task

    /// Waits for the next frame, in order of arrival.
    ///
    /// Only one task may wait at a time.
    ///
    /// Queued frames are dropped when the connection ends, since their answers could not be sent. The listener calls
    /// ``stop()`` on cancellation. A cancellation handler per frame would cost more than handling the frame.
    func next() async -> Event {
        if let event = self.takeNow() { return event }
        return await withCheckedContinuation { continuation in
            let event: Event? = self.state.withLock { state in
                if let event = state.take() { return event }
                precondition(state.waiter == nil, "one task at a time takes frames")
                state.waiter = continuation
                return nil
            }
            if let event { continuation.resume(returning: event) }
        }
    }

    private func takeNow() -> Event? {
        let (event, resumes, flushes) = self.state.withLock { state in
            let event = state.take()
            return (event, state.endPause(maxInFlight: self.maxInFlight), event == nil && state.isHolding)
        }
        if resumes { self.onLoop { $0.resume() } }
        if flushes { self.onLoop { $0.flush() } }
        return event
    }

    /// Sends a frame, first waiting for the peer to read earlier bytes if necessary.
    ///
    /// Returns false if the connection has ended. Otherwise, the frame has been queued, but it might not have arrived.
    ///
    /// - Parameters:
    ///   - isUse: Whether the frame restarts the idle timeout.
    ///   - mayBeHeld: Whether the frame may be sent together with the next one if another call is queued. It is sent at
    ///     the latest when the task waits for a frame.
    func send(_ payload: [UInt8], isUse: Bool = true, mayBeHeld: Bool = false) async -> Bool {
        let (isEnded, isWritable, departure) = self.state.withLock { state in
            // If more calls are queued, their answers can be sent together.
            let mayWait = !state.frames.isEmpty
            state.isHolding = mayWait && mayBeHeld
            let departure: FrameHandler.Departure = state.isHolding ? .withNext : mayWait ? .endOfTick : .now
            return (state.isEnded, state.isWritable, departure)
        }
        guard !isEnded else { return false }
        if self.eventLoop.inEventLoop {
            self.handler.value.send(payload, isUse: isUse, departure: departure)
        } else {
            self.onLoop { $0.send(payload, isUse: isUse, departure: departure) }
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

    /// Whether the last frame sent is held until the next one.
    var isHolding: Bool { self.state.withLock(\.isHolding) }

    /// Replaces the idle timeout.
    func allowIdleness(of limit: Duration) { self.onLoop { $0.allowIdleness(of: limit) } }

    /// Sets whether the connection is protected from being displaced in a full table.
    func protect(_ isProtected: Bool) { self.onProtection(isProtected) }

    /// Closes the connection gracefully, so that frames sent earlier still arrive.
    func close() {
        self.finish()
        self.onLoop { $0.close() }
    }

    /// Ends the connection immediately.
    ///
    /// No bytes are sent after ``closed()`` has returned.
    func abort() {
        self.end()
        self.onLoop { $0.abort() }
    }

    /// Stops delivering frames.
    ///
    /// Pending answers can still be sent.
    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            state.frames.removeAll()
            return state.waiter.take()
        }
        waiter?.resume(returning: .ended)
    }

    /// Stops delivering frames like ``finish()``, and also closes the connection if it has not opened yet.
    func stop() {
        self.finish()
        self.onLoop { $0.stopOpening() }
    }

    /// Waits until the connection is closed in both directions.
    func closed() async {
        // The future never fails: NIO succeeds it no matter how the channel was closed.
        try? await self.channel.closeFuture.get()
    }

    /// The executor of the connection's event loop, for its tasks.
    var executor: EventLoopTaskExecutor { .of(self.eventLoop) }

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

    func connectionOpened(_ opened: TLSHandshakeCompleted?) { self.onOpen(self, opened) }

    func receiveFrame(_ frame: consuming [UInt8]) -> Bool {
        let (waiter, hasRoom) = self.state.withLock { state in
            guard !state.isFinished else { return (CheckedContinuation<Event, Never>?.none, false) }
            if let waiter = state.waiter.take() { return (waiter, true) }
            return (nil, state.add(frame, maxInFlight: self.maxInFlight))
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

    func longFrameChanged(isHeld: Bool) { self.onLongFrame(isHeld) }

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
        /// The number of queued bytes at which we stop reading.
        static let longestWait = 2 * Frame.longestOrdinaryByteCount

        /// The queued frames, of which an idle connection has none, so the buffer starts with the smallest capacity.
        var frames = CircularBuffer<[UInt8]>(initialCapacity: 1)
        var waitingByteCount = 0
        /// Whether reading has stopped because the queue is full.
        var isPaused = false
        var violation: FrameViolation?
        /// Whether no more frames are delivered.
        var isFinished = false
        /// Whether no more frames can be sent.
        var isEnded = false
        var isWritable = true
        /// Whether the last frame sent is held until the next one.
        var isHolding = false
        var waiter: CheckedContinuation<Event, Never>?
        var senders: [CheckedContinuation<Bool, Never>] = []

        /// Queues a frame; returns false if reading should stop.
        mutating func add(_ frame: [UInt8], maxInFlight: Int) -> Bool {
            self.frames.append(frame)
            self.waitingByteCount += frame.count
            self.isPaused =
                self.frames.count >= maxInFlight || self.waitingByteCount >= Self.longestWait
                || frame.count > Frame.longestOrdinaryByteCount
            return !self.isPaused
        }

        /// Returns the next event if it is available without waiting.
        mutating func take() -> Event? {
            guard !self.isFinished else { return .ended }
            if let frame = self.frames.popFirst() {
                self.waitingByteCount -= frame.count
                return .frame(frame)
            }
            guard let violation = self.violation else { return nil }
            self.violation = nil
            return .violation(violation)
        }

        /// Returns true once if reading should resume because the queue is at most half full.
        mutating func endPause(maxInFlight: Int) -> Bool {
            guard self.isPaused, self.frames.count <= maxInFlight / 2,
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
