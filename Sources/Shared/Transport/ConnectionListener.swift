internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A listening socket and its connections.
///
/// Each connection is tracked from the moment it is accepted until it ends, so that stopping the listener reaches all
/// of them, including those that are still in the handshake.
final class ConnectionListener: Sendable {
    /// A connection that is ready for calls.
    struct Opened: Sendable {
        let frames: FrameChannel
        let tls: TLSHandshakeCompleted?
    }

    struct Connection {
        let channel: any Channel
        /// Nil until the first TLS record is complete.
        var frames: FrameChannel?
        /// The source that the connection is counted towards, or nil if the load balancer has not sent it yet.
        var source: PeerSource?
        /// Whether the connection has been displaced.
        ///
        /// If so, this has been reported already.
        var isDisplaced = false
    }

    struct State {
        var connections: [UInt64: Connection] = [:]
        var lastID: UInt64 = 0
        var limiter: ConnectionLimiter
        var handshakes: PendingConnections
        var longFrames: PendingConnections
        /// The connections that may be displaced, including handshakes: those without a session, and all but the newest
        /// sessions of a wallet.
        ///
        /// Always empty for a local socket.
        var unprotected = PendingConnections()
        var channel: (any Channel)?
        /// The Unix socket's file, until it is removed.
        var file: SocketFile?
        var isStopped = false
    }

    let state: Mutex<State>
    let limits: TransportLimits
    let observer: ListenerObserver
    /// Returns the frame sent to a local connection that exceeds a limit; nil to close the connection without sending
    /// anything.
    private let busyAnswer: LocalListener.BusyAnswer?
    private let queues: [ConnectionQueue]

    init(limits: TransportLimits, observer: ListenerObserver, busyAnswer: LocalListener.BusyAnswer? = nil) {
        self.limits = limits
        self.observer = observer
        self.busyAnswer = busyAnswer
        self.state = Mutex(
            State(
                limiter: ConnectionLimiter(limits: limits),
                handshakes: PendingConnections(capacity: limits.handshakes),
                longFrames: PendingConnections(capacity: limits.longFrames)
            )
        )
        self.queues = EventLoopTaskExecutor.all.map(ConnectionQueue.init)
    }

    /// The number of clients that may wait to be accepted.
    static let backlog: CInt = 1024

    /// Configures the listening socket and the sockets it accepts.
    ///
    /// - Parameter options: The TLS options, or nil for a local socket, which does not use TLS.
    func bootstrap(_ options: HandshakeOptions?) -> ServerBootstrap {
        ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(AcceptBackoff(report: self.observer.acceptFailure))
                    if options != nil { try pipeline.addHandler(AcceptPacer()) }
                }
            }
            .childChannelInitializer { channel in
                guard let options else {
                    return LocalPeer.user(endOf: channel).flatMapThrowing { user in
                        try Self.configure(channel)
                        try self.beginLocal(channel, from: PeerSource(user: user))
                    }
                }
                return channel.eventLoop.makeCompletedFuture {
                    try Self.configure(channel)
                    try self.begin(channel, with: options)
                }
            }
    }

    /// Sets the options of an accepted socket.
    ///
    /// The bootstrap would set them through a chain of promises for each connection.
    private static func configure(_ channel: any Channel) throws {
        guard let options = channel.syncOptions else { throw ChannelError.operationUnsupported }
        try options.setOption(.autoRead, value: false)
        try options.setOption(.maxMessagesPerRead, value: 1)
        // Each channel keeps its last read buffer, so start small. Most calls are short, and the buffer grows when a
        // registration arrives.
        let allocator = AdaptiveRecvByteBufferAllocator(minimum: 256, initial: 512, maximum: 16 * 1024)
        try options.setOption(.recvAllocator, value: allocator)
    }

    /// Sets up a connection from this machine, which does not need TLS.
    private func beginLocal(_ channel: any Channel, from source: PeerSource) throws {
        let peer = channel.remoteAddress
        let (id, refusal) = self.state.withLock { $0.admit(channel, from: source, at: .now()) }
        guard let id else {
            self.refused(refusal)
            guard let refusal, let busyAnswer = self.busyAnswer else { throw ChannelError.ioOnClosedChannel }
            return try channel.pipeline.syncOperations.addHandler(BusyHandler(busyAnswer(refusal.reason)))
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

    /// Reports a connection that was refused because of a limit.
    func refused(_ refusal: State.Refusal?) {
        guard let refusal else { return }
        self.observer.event(.refused(refusal.reason))
        if let report = refusal.report { self.observer.refusal(report) }
    }

    /// Passes a connection to the task that serves it.
    func yield(_ frames: FrameChannel, _ tls: TLSHandshakeCompleted?) {
        let executor = frames.executor
        guard let queue = self.queues.first(where: { $0.executor === executor }) else { return frames.close() }
        let result = queue.source.yield(Opened(frames: frames, tls: tls))
        if case .terminated = result { frames.close() }
    }

    /// Stores a connection's frame channel; throws if the listener has stopped.
    func keep(_ frames: FrameChannel, of id: UInt64) throws {
        let isKept = self.state.withLock { state in
            guard !state.isStopped else { return false }
            state.connections[id]?.frames = frames
            return true
        }
        guard isKept else { throw ChannelError.ioOnClosedChannel }
    }

    /// Removes a connection that has ended, and returns the number of handshakes in progress.
    @discardableResult
    func forget(_ id: UInt64) -> Int {
        self.state.withLock { state in
            state.handshakes.end(id)
            state.longFrames.end(id)
            state.unprotected.end(id)
            if let connection = state.connections.removeValue(forKey: id) {
                state.limiter.release(connection.source)
            }
            return state.handshakes.count
        }
    }

    /// Takes ownership of the bound socket, and closes the one that it replaces.
    ///
    /// It is closed by ``stop()``.
    ///
    /// - Parameter file: The file of a Unix socket, which is removed by ``stop()``. Closing the socket would not be
    ///   enough: a child process that is just being started may have a copy of it, and the kernel would keep accepting
    ///   connections on that copy.
    func listen(on channel: any Channel, at file: SocketFile? = nil) {
        let (closed, removed) = self.state.withLock { state -> ((any Channel)?, SocketFile?) in
            guard !state.isStopped else { return (channel, file) }
            defer { (state.channel, state.file) = (channel, file) }
            return (state.channel, state.file)
        }
        removed?.remove()
        closed?.close(promise: nil)
    }

    /// Calls `body` for each connection, on its event loop, until ``stop()`` is called or the task is cancelled.
    ///
    /// Returns when all connections have ended.
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

    /// Stops accepting connections and delivering requests.
    ///
    /// Pending answers are still sent.
    func stop() {
        let (channel, file, connections) = self.state.withLock { state in
            state.isStopped = true
            // Take the file rather than just reading it: once the socket is closed, its inode may be another file's.
            return (state.channel, state.file.take(), Array(state.connections.values))
        }
        for queue in self.queues { queue.source.finish() }
        file?.remove()
        channel?.close(promise: nil)
        for connection in connections {
            if let frames = connection.frames { frames.stop() } else { connection.channel.close(promise: nil) }
        }
    }

    /// Closes the connections that have no task, then waits until the listening socket and all connections are closed.
    private func closeAll() async {
        let (channel, connections) = self.state.withLock { ($0.channel, Array($0.connections.values)) }
        for connection in connections {
            if let frames = connection.frames { frames.close() } else { connection.channel.close(promise: nil) }
        }
        // These futures never fail: NIO succeeds them no matter how the channel was closed.
        for connection in connections { try? await connection.channel.closeFuture.get() }
        try? await channel?.closeFuture.get()
    }
}

/// The opened connections on an event loop that are waiting for a task.
///
/// Each event loop has its own queue, which is read by a task on the loop's thread, so that a connection never moves
/// between threads.
private struct ConnectionQueue: Sendable {
    let executor: EventLoopTaskExecutor
    let opened: AsyncStream<ConnectionListener.Opened>
    let source: AsyncStream<ConnectionListener.Opened>.Continuation

    init(_ executor: EventLoopTaskExecutor) {
        self.executor = executor
        (self.opened, self.source) = AsyncStream.makeStream()
    }

    /// Calls `body` for each connection, on the event loop.
    ///
    /// Returns when the queue is finished and all connections have ended. Cancellation stops the listener, which ends
    /// the connections. So they need no cancellation handlers, which would cost memory.
    func serve(_ body: @escaping @Sendable (ConnectionListener.Opened) async -> Void) async {
        await withDiscardingTaskGroup { connections in
            for await opened in self.opened {
                connections.addTask(executorPreference: self.executor) {
                    await body(opened)
                    opened.frames.close()
                    await opened.frames.closed()
                }
            }
        }
    }
}

extension ConnectionListener.State {
    /// Admits a connection under a new id, or returns the refusal if a limit applies.
    mutating func admit(
        _ channel: any Channel,
        from source: PeerSource?,
        at now: NIODeadline,
        displacing: Bool = false
    ) -> (id: UInt64?, refusal: Refusal?) {
        guard !self.isStopped else { return (nil, nil) }
        if let reason = self.limiter.admit(source, displacing: displacing) {
            let report = self.limiter.refused(source ?? PeerSource(nil), for: reason, at: now)
            return (nil, Refusal(reason: reason, report: report))
        }
        self.lastID += 1
        self.connections[self.lastID] = ConnectionListener.Connection(channel: channel, source: source)
        return (self.lastID, nil)
    }

    /// The reason a connection was refused, and a report if one is due.
    struct Refusal {
        let reason: RefusedConnections.Reason
        let report: RefusedConnections?
    }
}

/// The TLS options of a listening socket.
struct HandshakeOptions: Sendable {
    let tls: TLSServerContext
    /// Returns whether an address belongs to a load balancer, which must tell us the client's address for each
    /// connection.
    let isBalancer: @Sendable (_ address: String) -> Bool
}

// The steps of a network connection: admission, the load balancer's header, the first TLS record, the handshake, and
// frames.
extension ConnectionListener {
    /// Admits a connection and waits for its first bytes.
    ///
    /// If this throws, the connection is closed.
    ///
    /// Until those bytes arrive, a connection only costs an entry in the list.
    func begin(_ channel: any Channel, with options: HandshakeOptions) throws {
        let address = channel.remoteAddress
        let isBalanced = address?.ipAddress.map(options.isBalancer) ?? false
        let start = NIODeadline.now()
        let id = try self.admit(channel, from: isBalanced ? nil : PeerSource(address), start)
        var peer = address
        let opening = ClientHelloHandler(
            demandsHeader: isBalanced,
            timer: HandshakeTimer(deadline: start + TimeAmount(self.limits.handshake), on: channel.eventLoop),
            pacer: .of(channel.eventLoop),
            steps: ClientHelloHandler.Steps(
                takeOrigin: { origin in
                    if let named = SocketAddress(origin) { peer = named }  // rule: transport-header-source-ignored
                    return self.attribute(id, to: PeerSource(peer))
                },
                open: { try self.open(channel, as: id, from: peer, timer: $0, with: options) },
                fail: { self.failed(id, peer, $0) }
            )
        )
        try channel.pipeline.syncOperations.addHandler(opening)
    }

    private func admit(_ channel: any Channel, from source: PeerSource?, _ now: NIODeadline) throws -> UInt64 {
        let (id, refusal, gone, displaced, count) = self.state.withLock { state in
            let gone = state.limiter.hasRoom(for: source) ? state.makeRoom(at: now) : nil
            let (id, refusal) = state.admit(channel, from: source, at: now, displacing: gone != nil)
            if let id { _ = state.unprotected.begin(id, from: source, on: channel, at: now) }
            let displaced = id.flatMap { state.handshakes.begin($0, from: source, on: channel, at: now) }
            if let displaced {
                state.unprotected.end(displaced.id)
                state.connections[displaced.id]?.isDisplaced = true
            }
            return (id, refusal, gone, displaced?.channel, state.handshakes.count)
        }
        if let gone {
            self.refused(gone.report)
            gone.close()
        }
        guard let id else {
            self.refused(refusal)
            throw ChannelError.ioOnClosedChannel
        }
        self.observer.event(.handshakes(inProgress: count))
        if let displaced {
            self.observer.event(.failed(.displaced))
            self.observer.failure(displaced.remoteAddress?.logText ?? "unknown", .displaced)
            displaced.close(promise: nil)
        }
        channel.closeFuture.whenComplete { _ in
            self.observer.event(.handshakes(inProgress: self.forget(id)))
        }
        return id
    }

    /// Counts a connection towards its source, now that the source is known; returns false if the source has too many
    /// connections.
    private func attribute(_ id: UInt64, to source: PeerSource) -> Bool {
        let refusal: State.Refusal? = self.state.withLock { state in
            if let reason = state.limiter.attribute(to: source) {  // rule: transport-header-source-unlimited
                return State.Refusal(
                    reason: reason,
                    report: state.limiter.refused(source, for: reason, at: .now())
                )
            }
            state.connections[id]?.source = source
            state.handshakes.attribute(id, to: source)
            state.unprotected.attribute(id, to: source)
            return nil
        }
        guard let refusal else { return true }
        self.refused(refusal)
        return false
    }

    /// Adds the handlers for TLS and frames.
    private func open(
        _ channel: any Channel,
        as id: UInt64,
        from peer: SocketAddress?,
        timer: HandshakeTimer,
        with options: HandshakeOptions
    ) throws {
        let tls = TLSHandler(
            options.tls.makeConnection(),
            on: channel.eventLoop,
            timer: timer,
            recordLimit: TimeAmount(self.limits.frame),
            pacer: .of(channel.eventLoop)
        )
        try channel.pipeline.syncOperations.addHandler(tls)
        let frames = try FrameChannel(
            on: channel,
            peer: peer,
            limits: self.limits,
            isSecure: true,
            onOpen: { frames, tls in self.opened(frames, tls, as: id) },
            onProtection: { isProtected in self.protect(id, isProtected) },
            onLongFrame: { isHeld in self.longFrame(isHeld: isHeld, by: id) },
            onFailure: { self.failed(id, peer, .tls($0)) }
        )
        try self.keep(frames, of: id)
    }

    private func opened(_ frames: FrameChannel, _ tls: TLSHandshakeCompleted?, as id: UInt64) {
        let (isIn, count) = self.state.withLock { ($0.handshakes.end(id) != nil, $0.handshakes.count) }
        // The connection has just been displaced and is being closed.
        guard isIn else { return frames.close() }
        self.observer.event(.handshakes(inProgress: count))
        self.yield(frames, tls)
    }

    /// Sets whether a connection is protected from being displaced in a full table, which it is not at first.
    private func protect(_ id: UInt64, _ isProtected: Bool) {
        self.state.withLock { state in
            state.unprotected.end(id)
            guard !isProtected, let connection = state.connections[id], !connection.isDisplaced else { return }
            _ = state.unprotected.begin(id, from: connection.source, on: connection.channel, at: .now())
        }
    }

    /// Records that a connection has started or stopped holding all or part of a long frame.
    ///
    /// Invariant: no matter how many peers without a wallet connect, they can make the server hold at most
    /// ``TransportLimits/longFrames`` frames of the maximum length. Every other connection holds at most a TLS record
    /// and an ordinary frame.
    private func longFrame(isHeld: Bool, by id: UInt64) {
        let (displaced, refusal): (FrameChannel?, State.Refusal?) = self.state.withLock { state in
            guard isHeld, let connection = state.connections[id] else {
                state.longFrames.end(id)
                return (nil, nil)
            }
            let now = NIODeadline.now()
            let gone = state.longFrames.begin(id, from: connection.source, on: connection.channel, at: now)
            guard let gone, let displaced = state.connections[gone.id] else { return (nil, nil) }
            let source = displaced.source ?? PeerSource(nil)
            let report = state.limiter.refused(source, for: .longFrames, at: now)
            return (displaced.frames, State.Refusal(reason: .longFrames, report: report))
        }
        self.refused(refusal)
        displaced?.abort()
    }

    private func failed(_ id: UInt64, _ peer: SocketAddress?, _ failure: ConnectionFailure) {
        guard self.state.withLock({ $0.connections[id]?.isDisplaced == false }) else { return }
        self.observer.event(.failed(failure))
        self.observer.failure(peer?.logText ?? "unknown", failure)
    }
}

extension ConnectionListener.State {
    /// A connection that is closed to make room for another one.
    struct Displaced {
        let report: Refusal
        let close: @Sendable () -> Void
    }

    /// Removes an unprotected connection if the table is full.
    ///
    /// Threat: peers without a wallet, or with one, could fill the table so that no other wallet can connect. Instead
    /// they displace each other. A wallet opens its session within two round trips of the handshake, which protects
    /// the connection until the session ends or the wallet has opened several newer ones.
    ///
    /// - Returns: The removed connection, which the caller must close.
    fileprivate mutating func makeRoom(at now: NIODeadline) -> Displaced? {
        // rule: transport-full-table-closed
        guard !self.isStopped, self.limiter.isFull, let gone = self.unprotected.displace(at: now) else { return nil }
        self.handshakes.end(gone.id)
        self.longFrames.end(gone.id)
        self.connections[gone.id]?.isDisplaced = true
        let connection = self.connections[gone.id]
        let report = self.limiter.refused(connection?.source ?? PeerSource(nil), for: .withoutSession, at: now)
        return Displaced(report: Refusal(reason: .withoutSession, report: report)) {
            // Abort, because a peer could delay a graceful close and keep its place in the table.
            if let frames = connection?.frames { frames.abort() } else { gone.channel.close(promise: nil) }
        }
    }
}

extension SocketAddress {
    /// Creates the address sent by a load balancer; returns nil if it did not send one.
    fileprivate init?(_ origin: ProxyHeader.Origin) {
        guard case .address(let bytes, let port) = origin,
            let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: Int(port))
        else { return nil }
        self = address
    }
}

/// Sends a single frame on a connection that was not admitted, and then closes the connection.
final class BusyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: [UInt8]
    /// The delay between sending the answer and closing the connection.
    ///
    /// If the client sent its request to a closed socket, it would never read the answer.
    private static let grace: TimeAmount = .milliseconds(200)

    init(_ answer: [UInt8]) { self.answer = answer }

    func channelActive(context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: Frame.headerByteCount + self.answer.count)
        Frame.append(self.answer, to: &buffer)
        let channel = context.channel
        context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
        channel.eventLoop.scheduleTask(in: Self.grace) { channel.close(promise: nil) }
    }
}
