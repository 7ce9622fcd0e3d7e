import NIOCore
import NIOPosix
import TestSupport

/// A client that requests the metrics and never reads the response.
final class SilentReader: Sendable {
    private let channel: any Channel

    init(port: Int) async throws {
        self.channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: 4096)
            .connect(host: "127.0.0.1", port: port).get()
        // On a busy machine the server may have closed the connection, whose time is short.
        try? await self.channel.writeAndFlush(ByteBuffer(string: "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"))
    }

    /// Returns when a write fails because the server closed the connection.
    func isReset() async throws {
        try await poll { (try? await self.channel.writeAndFlush(ByteBuffer(string: "x")).get()) == nil }
    }
}
