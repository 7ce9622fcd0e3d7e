internal import NIOCore
internal import NIOPosix
internal import Vocabulary

/// The socket on which a server takes its clients' connections.
package final class RPCListener: Sendable {
    /// The port it listens on, also where 0 was asked for.
    package let port: Int

    private let listener: ConnectionListener
    private let limits: TransportLimits

    private init(_ listener: ConnectionListener, port: Int, limits: TransportLimits) {
        self.listener = listener
        self.port = port
        self.limits = limits
    }

    /// Listens on an address; connections wait until ``serve(_:)``.
    ///
    /// - Parameters:
    ///   - port: 0 for one that is free.
    ///   - isBalancer: whether an address without a port is one that must begin with a PROXY protocol header; from all
    ///     others a header is no TLS and ends the connection.
    ///   - observer: who is told of connections that come and fail.
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
        let bootstrap = listener.bootstrap(options).childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        do {
            let channel = try await bootstrap.bind(host: host, port: port).get()
            listener.listen(on: channel)
            return RPCListener(listener, port: channel.localAddress?.port ?? port, limits: limits)
        } catch {
            throw ListenError(error, address: "\(host):\(port)")
        }
    }

    /// Runs `body` for each connection until ``stop()`` or cancellation; returns when all have ended.
    ///
    /// `body` runs on the connection's event loop, which serves other connections too: it may compute, and must not
    /// block. When it returns the connection is closed in an orderly way.
    package func serve(_ body: @escaping @Sendable (ServerConnection) async -> Void) async {
        await self.listener.serve { opened in
            guard let tls = opened.tls else { return }
            await body(ServerConnection(opened.frames, channelBinding: tls.channelBinding, limits: self.limits))
        }
    }

    /// Accepts no more connections; every connection's next request is ``Incoming/closed``.
    package func stop() {
        self.listener.stop()
    }
}
