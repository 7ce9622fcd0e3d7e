internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// The HTTP listener for whoever observes the server: `/metrics`, `/livez`, `/readyz`, and nothing else.
///
/// It has a thread of its own: what happens here takes no event loop from wallets, and the loops can be asked whether
/// they live. It is meant for a private address; for one that others reach, its limits hold all the same: few connections, of
/// which the oldest makes room for a new one, so that nobody who is slow keeps a probe out.
package final class ObservationListener: Sendable {
    /// What one peer, and all of them, may take.
    package struct Limits: Hashable, Sendable {
        /// From a connection's begin to its end, whatever is said on it.
        package var connection: Duration = .seconds(10)
        /// Bytes of a request.
        package var request = 8 * 1024
        /// Connections at a time.
        package var connections = 32

        package init() {}
    }

    /// Where it listens, also where port 0 was asked for.
    package let port: Int

    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel

    private init(_ channel: any Channel, group: MultiThreadedEventLoopGroup, port: Int) {
        self.channel = channel
        self.group = group
        self.port = port
    }

    /// Listens, and answers until ``close()``.
    package static func bind(
        host: String,
        port: Int,
        limits: Limits = Limits(),
        answers: ObservationAnswers
    ) async throws(ObservationListenError) -> ObservationListener {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let visitors = Visitors(most: limits.connections)
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
            let channel = try await bootstrap.bind(host: host, port: port).get()
            return ObservationListener(channel, group: group, port: channel.localAddress?.port ?? port)
        } catch {
            try? await group.shutdownGracefully()
            throw ObservationListenError(reason: "\(error)")
        }
    }

    /// Ends all connections and the thread; asked once.
    package func close() async {
        try? await self.channel.close()
        try? await self.group.shutdownGracefully()
    }
}

/// Why there is no listener; mend `observation.listen`.
package struct ObservationListenError: Error, Hashable, Sendable {
    /// In the system's words.
    package let reason: String
}

/// The open connections, oldest first.
private final class Visitors: Sendable {
    private let most: Int
    private let channels = Mutex<[any Channel]>([])

    init(most: Int) {
        self.most = most
    }

    /// Takes one in; where there are too many the oldest goes.
    func enter(_ channel: any Channel) {
        let oldest = self.channels.withLock { channels in
            channels.append(channel)
            return channels.count > self.most ? channels.removeFirst() : nil
        }
        oldest?.close(promise: nil)
        channel.closeFuture.whenComplete { _ in
            self.channels.withLock { channels in channels.removeAll { $0 === channel } }
        }
    }
}
