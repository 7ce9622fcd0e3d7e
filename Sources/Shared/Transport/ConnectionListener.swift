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
        let tls: TLSOpened?
    }

    private struct State {
        var connections: [ObjectIdentifier: FrameChannel] = [:]
        var admission: Admission
        var channel: (any Channel)?
        /// The Unix socket's file, until it is removed.
        var path: String?
        var isStopped = false
    }

    private let state: Mutex<State>
    private let opened: AsyncStream<Opened>
    private let source: AsyncStream<Opened>.Continuation
    private let limits: TransportLimits

    init(limits: TransportLimits) {
        self.limits = limits
        self.state = Mutex(State(admission: Admission(limits: limits)))
        (self.opened, self.source) = AsyncStream.makeStream(of: Opened.self)
    }

    /// The settings of the listening socket and of those accepted from it.
    ///
    /// - Parameters:
    ///   - addTLS: adds the TLS handler; nil where there is none.
    ///   - onFailure: called with the client's address when TLS failed.
    ///   - onRefusal: called when connections were closed because there are too many, not for each of them.
    func bootstrap(
        addTLS: (@Sendable (any Channel) throws -> Void)?,
        onFailure: @escaping @Sendable (_ peer: String, _ failure: TLSFailure) -> Void,
        onRefusal: @escaping @Sendable (RefusedConnections) -> Void
    ) -> ServerBootstrap {
        ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            // Each channel keeps the buffer that it read into last; calls are short, and a registration makes it grow.
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 256, initial: 512, maximum: 16 * 1024)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // Before anything is made for the connection; what throws here closes it.
                    try self.admit(channel, onRefusal: onRefusal)
                    try addTLS?(channel)
                    let peer = channel.remoteAddress?.logText ?? "unknown"
                    let frames = try FrameChannel(
                        on: channel,
                        limits: self.limits,
                        isSecure: addTLS != nil,
                        onOpen: { frames, tls in
                            let result = self.source.yield(Opened(frames: frames, tls: tls))
                            if case .terminated = result { frames.close() }
                        },
                        onFailure: { onFailure(peer, $0) }
                    )
                    try self.keep(frames, until: channel.closeFuture)
                }
            }
    }

    private func admit(_ channel: any Channel, onRefusal: (RefusedConnections) -> Void) throws {
        let source = PeerSource(channel.remoteAddress)
        let (isAdmitted, refusal) = self.state.withLock { state in
            guard let reason = state.admission.admit(source) else { return (true, RefusedConnections?.none) }
            return (false, state.admission.refused(source, for: reason, at: .now()))
        }
        if let refusal { onRefusal(refusal) }
        guard isAdmitted else { throw ChannelError.ioOnClosedChannel }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.admission.release(source) } }
    }

    private func keep(_ frames: FrameChannel, until end: EventLoopFuture<Void>) throws {
        let isKept = self.state.withLock { state in
            guard !state.isStopped else { return false }
            state.connections[ObjectIdentifier(frames)] = frames
            return true
        }
        guard isKept else { throw ChannelError.ioOnClosedChannel }
        end.whenComplete { _ in
            self.state.withLock { _ = $0.connections.removeValue(forKey: ObjectIdentifier(frames)) }
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
            await withDiscardingTaskGroup { connections in
                for await opened in self.opened {
                    connections.addTask(executorPreference: opened.frames.executor) {
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
        self.source.finish()
        if let path { UnixSocket.remove(path) }
        channel?.close(promise: nil)
        for connection in connections { connection.stop() }
    }

    /// Closes the connections that no task was started for, and waits for the ends of all and of the listening socket.
    private func closeAll() async {
        let (channel, connections) = self.state.withLock { ($0.channel, Array($0.connections.values)) }
        for connection in connections { connection.close() }
        for connection in connections { await connection.closed() }
        // The future never fails: NIO succeeds it whatever closed the channel.
        try? await channel?.closeFuture.get()
    }
}
