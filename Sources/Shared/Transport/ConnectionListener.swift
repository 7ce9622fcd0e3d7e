internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import Vocabulary

/// A listening socket and the connections that came from it.
///
/// Keeps every connection from its acceptance to its end, so that a stop reaches all of them, handshakes included.
final class ConnectionListener: Sendable {
    /// A connection on which calls can come.
    struct Opened: Sendable {
        let frames: FrameChannel
        let tls: TLSHandshakeCompleted?
    }

    /// One that was let in.
    struct Connection {
        let channel: any Channel
        /// Nil until it has said something that is for TLS.
        var frames: FrameChannel?
        /// Under which it is counted; nil until a balancer has said it.
        var source: PeerSource?
        /// It had to make room, which has been told.
        var isDisplaced = false
    }

    struct State {
        var connections: [UInt64: Connection] = [:]
        var lastID: UInt64 = 0
        var limiter: ConnectionLimiter
        var handshakes: PendingConnections
        var longFrames: PendingConnections
        var channel: (any Channel)?
        /// The Unix socket's file, until it is removed.
        var path: String?
        var isStopped = false
    }

    let state: Mutex<State>
    let limits: TransportLimits
    let observer: ListenerObserver
    private let queues: [ConnectionQueue]

    init(limits: TransportLimits, observer: ListenerObserver) {
        self.limits = limits
        self.observer = observer
        self.state = Mutex(
            State(
                limiter: ConnectionLimiter(limits: limits),
                handshakes: PendingConnections(room: limits.handshakes),
                longFrames: PendingConnections(room: limits.longFrames)
            )
        )
        self.queues = EventLoopTaskExecutor.all.map(ConnectionQueue.init)
    }

    /// The settings of the listening socket and of those accepted from it.
    ///
    /// - Parameter options: what clients pass before their first frame; nil where they come from this machine.
    func bootstrap(_ options: HandshakeOptions?) -> ServerBootstrap {
        ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(AcceptBackoff(tell: self.observer.acceptFailure))
                    if options != nil { try pipeline.addHandler(AcceptPacer()) }
                }
            }
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            // Each channel keeps the buffer that it read into last; calls are short, and a registration makes it grow.
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 256, initial: 512, maximum: 16 * 1024)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let options {
                        try self.begin(channel, with: options)
                    } else {
                        try self.beginLocal(channel)
                    }
                }
            }
    }

    /// A connection of this machine, which needs no TLS.
    private func beginLocal(_ channel: any Channel) throws {
        let peer = channel.remoteAddress
        let (id, refusal) = self.state.withLock { $0.admit(channel, from: PeerSource(peer), at: .now()) }
        guard let id else {
            self.refused(refusal)
            throw ChannelError.ioOnClosedChannel
        }
        channel.closeFuture.whenComplete { _ in self.forget(id) }
        let frames = try FrameChannel(
            on: channel,
            peer: peer,
            limits: self.limits,
            isSecure: false,
            onOpen: { frames, tls in self.yield(frames, tls) },
            onFailure: { _ in }
        )
        try self.keep(frames, of: id)
    }

    /// Tells of a connection that was not let in.
    func refused(_ refusal: State.Refusal?) {
        guard let refusal else { return }
        self.observer.event(.refused(refusal.reason))
        if let report = refusal.report { self.observer.refusal(report) }
    }

    /// Gives a connection to the task that serves it.
    func yield(_ frames: FrameChannel, _ tls: TLSHandshakeCompleted?) {
        let executor = frames.executor
        guard let queue = self.queues.first(where: { $0.executor === executor }) else { return frames.close() }
        let result = queue.source.yield(Opened(frames: frames, tls: tls))
        if case .terminated = result { frames.close() }
    }

    /// A connection has got as far as frames.
    func keep(_ frames: FrameChannel, of id: UInt64) throws {
        let isKept = self.state.withLock { state in
            guard !state.isStopped else { return false }
            state.connections[id]?.frames = frames
            return true
        }
        guard isKept else { throw ChannelError.ioOnClosedChannel }
    }

    /// A connection has ended; how many handshakes are in progress now.
    @discardableResult
    func forget(_ id: UInt64) -> Int {
        self.state.withLock { state in
            state.handshakes.end(id)
            state.longFrames.end(id)
            if let connection = state.connections.removeValue(forKey: id) {
                state.limiter.release(connection.source)
            }
            return state.handshakes.count
        }
    }

    /// Takes over the bound socket, which ``stop()`` closes.
    ///
    /// - Parameter path: The file of a Unix socket, which ``stop()`` removes. Closing would not be enough: a child
    ///   process that is just being started holds a copy of the socket, on which the kernel goes on accepting.
    func listen(on channel: any Channel, at path: String? = nil) {
        self.state.withLock { ($0.channel, $0.path) = (channel, path) }
    }

    /// Runs `body` for each connection, on its event loop, until ``stop()`` or cancellation; returns when all have ended.
    func serve(_ body: @escaping @Sendable (Opened) async -> Void) async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { loops in
                for queue in self.queues {
                    loops.addTask(executorPreference: queue.executor) { await queue.serve(body) }
                }
            }
        } onCancel: {
            self.stop()
        }
        await self.closeAll()
    }

    /// Accepts no more connections and gives no more requests; what is being answered is still sent.
    func stop() {
        let (channel, path, connections) = self.state.withLock { state in
            state.isStopped = true
            // Taken, not read: a second stop must not remove what the next listener made.
            return (state.channel, state.path.take(), Array(state.connections.values))
        }
        for queue in self.queues { queue.source.finish() }
        if let path { UnixSocket.remove(path) }
        channel?.close(promise: nil)
        for connection in connections {
            if let frames = connection.frames { frames.stop() } else { connection.channel.close(promise: nil) }
        }
    }

    /// Closes the connections that no task was started for, and waits for the ends of all and of the listening socket.
    private func closeAll() async {
        let (channel, connections) = self.state.withLock { ($0.channel, Array($0.connections.values)) }
        for connection in connections {
            if let frames = connection.frames { frames.close() } else { connection.channel.close(promise: nil) }
        }
        // These futures never fail: NIO succeeds them whatever closed the channel.
        for connection in connections { try? await connection.channel.closeFuture.get() }
        try? await channel?.closeFuture.get()
    }
}

/// The connections of one event loop on which calls can come, until each has a task.
///
/// One for each loop, and the task that waits for them runs there as well: a connection changes thread neither on its
/// way to its task nor afterwards.
private struct ConnectionQueue: Sendable {
    let executor: EventLoopTaskExecutor
    let opened: AsyncStream<ConnectionListener.Opened>
    let source: AsyncStream<ConnectionListener.Opened>.Continuation

    init(_ executor: EventLoopTaskExecutor) {
        self.executor = executor
        (self.opened, self.source) = AsyncStream.makeStream()
    }

    /// Runs `body` for each of them, on the loop; returns when all that came have ended and no more will come.
    func serve(_ body: @escaping @Sendable (ConnectionListener.Opened) async -> Void) async {
        await withDiscardingTaskGroup { connections in
            for await opened in self.opened {
                connections.addTask(executorPreference: self.executor) {
                    await withTaskCancellationHandler {
                        await body(opened)
                    } onCancel: {
                        opened.frames.finish()
                    }
                    opened.frames.close()
                    await opened.frames.closed()
                }
            }
        }
    }
}

extension ConnectionListener.State {
    /// Lets a connection in under a number of its own; nil where it may not be, and why.
    mutating func admit(
        _ channel: any Channel,
        from source: PeerSource?,
        at now: NIODeadline
    ) -> (id: UInt64?, refusal: Refusal?) {
        guard !self.isStopped else { return (nil, nil) }
        if let reason = self.limiter.admit(source) {
            let report = self.limiter.refused(source ?? PeerSource(nil), for: reason, at: now)
            return (nil, Refusal(reason: reason, report: report))
        }
        self.lastID += 1
        self.connections[self.lastID] = ConnectionListener.Connection(channel: channel, source: source)
        return (self.lastID, nil)
    }

    /// Why a connection was not let in, and what is to be told of it.
    struct Refusal {
        let reason: RefusedConnections.Reason
        let report: RefusedConnections?
    }
}
