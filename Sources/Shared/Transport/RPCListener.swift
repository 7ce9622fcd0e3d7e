internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Vocabulary

/// The socket on which a server takes its clients' connections.
public final class RPCListener: Sendable {
    /// The port it listens on, also where 0 was asked for.
    public let port: Int

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
    ///   - onFailure: told of every connection that TLS ended, with the client's address, for the log.
    ///   - onRefusal: told when connections were closed because there are too many, for the log.
    public static func bind(
        host: String,
        port: Int,
        tls: TLSServerContext,
        limits: TransportLimits = TransportLimits(),
        onFailure: @escaping @Sendable (_ peer: String, _ failure: TLSFailure) -> Void = { _, _ in },
        onRefusal: @escaping @Sendable (RefusedConnections) -> Void = { _ in }
    ) async throws(ListenError) -> RPCListener {
        let listener = ConnectionListener(limits: limits)
        let bootstrap = listener.bootstrap(
            addTLS: { channel in
                let handler = TLSHandler(
                    tls.makeConnection(),
                    deadline: channel.eventLoop.now + TimeAmount(limits.handshake),
                    recordLimit: TimeAmount(limits.frame)
                )
                try channel.pipeline.syncOperations.addHandler(handler)
            },
            onFailure: onFailure,
            onRefusal: onRefusal
        )
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
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
    public func serve(_ body: @escaping @Sendable (ServerConnection) async -> Void) async {
        await self.listener.serve { opened in
            guard let tls = opened.tls else { return }
            await body(ServerConnection(opened.frames, channelBinding: tls.channelBinding, limits: self.limits))
        }
    }

    /// Accepts no more connections; every connection's next request is ``Incoming/closed``.
    public func stop() {
        self.listener.stop()
    }
}

extension ListenError {
    /// What the system said.
    init(_ error: any Error, address: String) {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: self = .addressInUse(address)
        case EACCES, EPERM: self = .notAllowed(address)
        case let code?: self = .other("\(address): errno \(code)")
        case nil: self = .other("\(address): \(error)")
        }
    }
}
