internal import HostSystem
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import Vocabulary

/// The socket that a server listens on for clients.
package final class RPCListener: Sendable {
    /// The actual port of the socket, even if port 0 was requested.
    package let port: Int

    private let listener: ConnectionListener
    private let limits: TransportLimits

    private init(_ listener: ConnectionListener, port: Int, limits: TransportLimits) {
        self.listener = listener
        self.port = port
        self.limits = limits
    }

    /// Starts listening on an address.
    ///
    /// Connections wait until ``serve(_:)`` is called.
    ///
    /// - Parameters:
    ///   - port: The port, or 0 for any free port.
    ///   - isBalancer: Returns whether the peer at this address must send a PROXY protocol header first. If any other
    ///     peer sends one, the connection is closed, since the header is not valid TLS.
    ///   - observer: The callbacks for metrics and logs.
    package static func bind(
        host: String,
        port: Int,
        tls: TLSServerContext,
        limits: TransportLimits = TransportLimits(),
        isBalancer: @escaping @Sendable (_ address: String) -> Bool = { _ in false },
        observer: ListenerObserver = ListenerObserver()
    ) async throws(ListenError) -> RPCListener {
        let listener = ConnectionListener(limits: limits, observer: observer)
        let options = HandshakeOptions(tls: tls, isBalancer: isBalancer)
        do {
            // NIO sets TCP_NODELAY on the listening socket, and connections inherit it.
            let channel = try await listener.bootstrap(options).bind(host: ListenAddress.host(host), port: port).get()
            listener.listen(on: channel)
            return RPCListener(listener, port: channel.localAddress?.port ?? port, limits: limits)
        } catch {
            throw ListenError(error, address: ListenAddress.text(host, port))
        }
    }

    /// Calls `body` for each connection until ``stop()`` is called or the task is cancelled.
    ///
    /// Returns when all connections have ended.
    ///
    /// `body` runs on the connection's event loop, which also serves other connections, so it must not block. When it
    /// returns, the connection is closed gracefully.
    package func serve(_ body: @escaping @Sendable (ServerConnection) async -> Void) async {
        await self.listener.serve { opened in
            guard let tls = opened.tls else { return }
            await body(ServerConnection(opened.frames, channelBinding: tls.channelBinding, limits: self.limits))
        }
    }

    /// Changes the maximum number of connections from a single source.
    ///
    /// Existing connections above it stay open.
    package func limit(connectionsPerSource most: Int) {
        self.listener.state.withLock { $0.limiter.limit(perSource: most) }
    }

    /// Stops accepting connections.
    ///
    /// The next request on every connection is ``Incoming/closed``.
    package func stop() {
        self.listener.stop()
    }
}
