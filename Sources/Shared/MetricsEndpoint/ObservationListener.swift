internal import HostSystem
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// The HTTP listener for monitoring systems.
///
/// It only serves `/metrics`, `/livez` and `/readyz`.
///
/// It runs on a separate thread, so that it does not take an event loop away from wallets and can check whether the
/// event loops are alive. It is intended for a private address, but its limits are also sufficient for a public one.
/// When the connection limit is reached, the oldest connection is closed, so that slow clients cannot lock out a probe.
package final class ObservationListener: Sendable {
    /// Limits for each connection, and for the number of connections.
    package struct Limits: Hashable, Sendable {
        /// The maximum lifetime of a connection, whether or not it is active.
        package var connection: Duration = .seconds(10)
        /// The maximum size of a request in bytes.
        package var request = 8 * 1024
        /// The maximum number of open connections.
        package var connections = 32

        package init() {}
    }

    /// The actual port, even if port 0 was requested.
    package let port: Int

    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel

    private init(_ channel: any Channel, group: MultiThreadedEventLoopGroup, port: Int) {
        self.channel = channel
        self.group = group
        self.port = port
    }

    /// Binds to an address and serves requests until ``close()`` is called.
    package static func bind(
        host: String,
        port: Int,
        limits: Limits = Limits(),
        answers: ObservationSources
    ) async throws(ObservationListenError) -> ObservationListener {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let visitors = OpenConnections(limit: limits.connections)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    visitors.enter(channel)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(RequestByteLimit(limits.request))
                    try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
                    try pipeline.addHandler(HTTPResponseEncoder())
                    try pipeline.addHandler(
                        ObservationHandler(answers, limit: TimeAmount(limits.connection))
                    )
                }
            }
        do {
            let channel = try await bootstrap.bind(host: ListenAddress.host(host), port: port).get()
            return ObservationListener(channel, group: group, port: channel.localAddress?.port ?? port)
        } catch {
            try? await group.shutdownGracefully()
            let code = (error as? IOError)?.errnoCode
            throw ObservationListenError(reason: code.map(ListenAddress.reason) ?? "\(error)")
        }
    }

    /// Closes the listener and all connections, and stops the thread.
    ///
    /// May only be called once.
    package func close() async {
        try? await self.channel.close()
        try? await self.group.shutdownGracefully()
    }
}

/// An error from binding the listener to its address.
///
/// To fix it, change `observation.listen`.
package struct ObservationListenError: Error, Hashable, Sendable {
    /// The reason in plain words, with the errno(3).
    package let reason: String
}

/// The open connections, starting with the oldest.
private final class OpenConnections: Sendable {
    private let limit: Int
    private let channels = Mutex<[any Channel]>([])

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a connection, and closes the oldest one if there are too many.
    func enter(_ channel: any Channel) {
        let oldest = self.channels.withLock { channels in
            channels.append(channel)
            return channels.count > self.limit ? channels.removeFirst() : nil
        }
        oldest?.close(promise: nil)
        channel.closeFuture.whenComplete { _ in
            self.channels.withLock { channels in channels.removeAll { $0 === channel } }
        }
    }
}
