internal import NIOCore
internal import NIOPosix
internal import Wire

// Both ends of a local Unix socket. They use no TLS, since the permissions of the file restrict access.

extension ConnectionListener {
    /// Listens at `path` and replaces a socket that an earlier process left.
    ///
    /// - Parameter group: A group whose members may connect, in addition to the owner.
    /// - Precondition: The caller holds the lock of the folder, so that no other process serves it.
    func bind(unixSocket path: String, group: UInt32?) async throws(ListenError) {
        let bootstrap = self.bootstrap(nil)
        let socket = try UnixSocket(boundTo: path, group: group)
        do {
            self.listen(on: try await bootstrap.withBoundSocket(socket.release()).get(), at: path)
        } catch {
            throw ListenError(error, address: path)
        }
    }
}

extension PendingCalls {
    /// Connects to the socket at `path`; throws ``ConnectError/refused`` if no process listens there.
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
