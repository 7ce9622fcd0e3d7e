internal import WalletCore
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A TCP proxy for a single connection to the server, which it can close after a number of bytes.
///
/// The relay listens on the loopback interface until it has accepted the connection, and forwards bytes as they arrive.
final class Relay: Sendable {
    let host = "127.0.0.1"
    let port: Int
    private let listener: any Channel
    private let state: RelayState

    /// Returns nil if the system does not assign a port.
    static func open(to server: TLSDialer.Server) async -> Relay? {
        let state = RelayState()
        let (host, port) = (server.host, server.port)
        let listener = try? await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            // Disable Nagle's algorithm here too: the wallet and the server both do.
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .connectTimeout(.seconds(10))
                    .connect(host: host, port: port)
                    .flatMapThrowing { server in
                        state.reachedServer()
                        let (near, far) = RelayHandler.pair(on: state)
                        try client.pipeline.syncOperations.addHandler(near)
                        try server.pipeline.syncOperations.addHandler(far)
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let listener, let port = listener.localAddress?.port else { return nil }
        return Relay(listener: listener, port: port, state: state)
    }

    private init(listener: any Channel, port: Int, state: RelayState) {
        self.listener = listener
        self.port = port
        self.state = state
    }

    /// Whether the server has accepted the connection.
    var hasReachedServer: Bool { self.state.values.withLock { $0.hasReachedServer } }

    /// Closes the connection after the given number of bytes, counting both directions.
    func cut(after byteCount: Int) {
        self.state.values.withLock { $0.bytesLeft = byteCount }
    }

    /// Stops listening, without affecting the accepted connection.
    func closeListener() async {
        // This throws if the listener is already closed, which is harmless.
        _ = try? await self.listener.close()
    }
}

/// The state shared by both ends of a relayed connection and by its owner.
final class RelayState: Sendable {
    struct Values {
        var hasReachedServer = false
        /// The number of bytes left until the connection is closed, if a limit is set.
        var bytesLeft: Int?
    }

    let values = Mutex(Values())

    func reachedServer() {
        self.values.withLock { $0.hasReachedServer = true }
    }

    /// Returns how many of the bytes may still be forwarded.
    func admit(_ byteCount: Int) -> Int {
        self.values.withLock { values in
            guard let left = values.bytesLeft else { return byteCount }
            values.bytesLeft = max(0, left - byteCount)
            return min(left, byteCount)
        }
    }
}

/// One end of a relayed connection.
///
/// It applies back-pressure, so it reads no faster than the other end writes.
///
/// Both ends run on the same event loop, and no other code accesses them.
private final class RelayHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = NIOAny
    typealias OutboundOut = ByteBuffer

    private let state: RelayState
    private var partner: RelayHandler?
    private var context: ChannelHandlerContext?
    private var isReadPending = false

    private init(_ state: RelayState) {
        self.state = state
    }

    static func pair(on state: RelayState) -> (RelayHandler, RelayHandler) {
        let (near, far) = (RelayHandler(state), RelayHandler(state))
        near.partner = far
        far.partner = near
        return (near, far)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.partner?.partnerBecameWritable()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.partner = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        let byteCount = bytes.readableBytes
        let admitted = self.state.admit(byteCount)
        if let slice = bytes.readSlice(length: admitted), admitted > 0 {
            self.partner?.context?.writeAndFlush(NIOAny(slice), promise: nil)
        }
        if admitted < byteCount { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.partner?.context?.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.partner?.partnerBecameWritable() }
        context.fireChannelWritabilityChanged()
    }

    func read(context: ChannelHandlerContext) {
        if self.partner?.context?.channel.isWritable ?? false {
            context.read()
        } else {
            self.isReadPending = true
        }
    }

    private func partnerBecameWritable() {
        guard self.isReadPending else { return }
        self.isReadPending = false
        self.context?.read()
    }
}
