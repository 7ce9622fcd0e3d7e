internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import Vocabulary

/// The socket on which a server listens for clients.
package final class RPCListener: Sendable {
    /// The port of the socket; this is the actual port even if the caller passed 0.
    package let port: Int

    private let listener: ConnectionListener
    private let limits: TransportLimits

    private init(_ listener: ConnectionListener, port: Int, limits: TransportLimits) {
        self.listener = listener
        self.port = port
        self.limits = limits
    }

    /// Starts listening on an address; connections wait until ``serve(_:)`` is called.
    ///
    /// - Parameters:
    ///   - port: The port; 0 for any free port.
    ///   - isBalancer: Returns true if the peer with this address must send a PROXY protocol header first. If any other
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
            let channel = try await listener.bootstrap(options).bind(host: host, port: port).get()
            listener.listen(on: channel)
            return RPCListener(listener, port: channel.localAddress?.port ?? port, limits: limits)
        } catch {
            throw ListenError(error, address: "\(host):\(port)")
        }
    }

    /// Runs `body` for each connection until ``stop()`` or cancellation; returns when all have ended.
    ///
    /// `body` runs on the connection's event loop, which serves other connections too, so it must
    /// not block. When it returns, the connection is closed gracefully.
    package func serve(_ body: @escaping @Sendable (ServerConnection) async -> Void) async {
        await self.listener.serve { opened in
            guard let tls = opened.tls else { return }
            await body(ServerConnection(opened.frames, channelBinding: tls.channelBinding, limits: self.limits))
        }
    }

    /// Changes the limit on connections from one source; open connections above it stay open.
    package func limit(connectionsPerSource most: Int) {
        self.listener.state.withLock { $0.limiter.limit(perSource: most) }
    }

    /// Stops accepting connections; the next request of every connection is ``Incoming/closed``.
    package func stop() {
        self.listener.stop()
    }
}
