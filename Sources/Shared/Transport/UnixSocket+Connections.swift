internal import NIOCore
internal import NIOPosix
internal import Wire

// Both ends of a local Unix socket. TLS is not used, because access is restricted by the file's permissions.

extension ConnectionListener {
    /// Listens at `path`, replacing a socket left behind by an earlier process, or the one that this listener had.
    ///
    /// - Parameter group: A group whose members may connect, in addition to the owner.
    func bind(unixSocket path: String, group: UInt32?) async throws(ListenError) {
        let bootstrap = self.bootstrap(nil)
        // NIO calls listen(2) again with the same backlog, which changes nothing.
        let (descriptor, file) = try UnixSocket.listen(at: path, group: group, backlog: Self.backlog)
        do {
            self.listen(on: try await bootstrap.withBoundSocket(descriptor).get(), at: file)
        } catch {
            file.remove()
            throw ListenError(error, address: path)
        }
    }
}

extension PendingCalls {
    /// Connects to the socket at `path`.
    ///
    /// Throws ``ConnectError/refused`` if no process is listening there.
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
