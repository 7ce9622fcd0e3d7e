internal import NIOCore
internal import NIOPosix
internal import Wire

// Both ends of a Unix socket of this machine: without TLS, since the kernel says who may open the file.

extension ConnectionListener {
    /// Listens at `path`, replacing a socket that an earlier process left there.
    ///
    /// - Parameter group: whose members may open it beside its owner.
    /// - Precondition: no other process serves this folder; its lock is the caller's to hold.
    static func bind(
        unixSocket path: String,
        group: UInt32?,
        limits: TransportLimits,
        observer: ListenerObserver
    ) async throws(ListenError) -> ConnectionListener {
        let listener = ConnectionListener(limits: limits, observer: observer)
        let bootstrap = listener.bootstrap(nil)
        let socket = try UnixSocket(boundTo: path, group: group)
        do {
            listener.listen(on: try await bootstrap.withBoundSocket(socket.release()).get(), at: path)
            return listener
        } catch {
            throw ListenError(error, address: path)
        }
    }
}

extension PendingCalls {
    /// Connects to the socket at `path`; ``ConnectError/refused`` when nobody listens there.
    static func connect(
        unixSocket path: String,
        timeout: Duration,
        read: @escaping Reader
    ) async throws(ConnectError) -> PendingCalls {
        do {
            let calls = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(TimeAmount(timeout))
                .channelOption(.autoRead, value: false)
                .connect(unixDomainSocketPath: path) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try PendingCalls(on: channel, isSecure: false, read: read)
                    }
                }
            _ = try await calls.open()
            return calls
        } catch {
            throw ConnectError(error)
        }
    }
}
