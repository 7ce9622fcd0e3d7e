import HostSystem
import LabFiles
import NIOCore
import NIOPosix

/// A load balancer on layer 4: sends a given PROXY header for each client and forwards all bytes.
final class Balancer: Sendable {
    /// The folder of a lab whose server address is the balancer's.
    let folder: String
    private let channel: any Channel

    /// Forwards connections from wallets of a lab to its real server.
    ///
    /// - Parameters:
    /// - header: sent before a client's first byte; empty for none.
    /// - address: the balancer's address, as the server sees it.
    init(before lab: LabUnderTest, saying header: [UInt8], from address: String = "127.0.0.1") async throws {
        var file = try LabFile(of: lab.lab)
        let (host, port) = (file.host, file.port)
        let own = try SocketAddress(ipAddress: address, port: 0)
        self.channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).channelOption(.autoRead, value: false).bind(to: own)
                    .connect(host: host, port: port)
                    .flatMapThrowing { server in try Self.join(client, to: server, saying: header) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.folder = "\(lab.folder)/balancer-\(self.channel.localAddress?.port ?? 0)"
        try DurableFile.makeFolder(self.folder)
        (file.host, file.port) = ("127.0.0.1", self.channel.localAddress?.port ?? 0)
        try file.write(to: LabFolder(self.folder))
    }

    deinit { self.channel.close(promise: nil) }

    /// Both channels use one event loop.
    private static func join(_ client: any Channel, to server: any Channel, saying header: [UInt8]) throws {
        try server.pipeline.syncOperations.addHandler(Passing(to: client))
        try client.pipeline.syncOperations.addHandler(Passing(to: server))
        server.closeFuture.whenComplete { _ in client.close(promise: nil) }
        client.closeFuture.whenComplete { _ in server.close(promise: nil) }
        if !header.isEmpty { server.writeAndFlush(ByteBuffer(bytes: header), promise: nil) }
        for channel in [server, client] { _ = channel.setOption(.autoRead, value: true) }
    }

    private final class Passing: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let other: any Channel

        init(to other: any Channel) {
            self.other = other
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.other.writeAndFlush(self.unwrapInboundIn(data), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}

/// PROXY protocol headers, version 2, written from HAProxy's specification and not with the server's code.
enum BalancerHeader {
    private static let signature: [UInt8] = Array("\r\n\r\n\0\r\nQUIT\n".utf8)

    /// TCP over IPv4 from 192.0.2.`last`, port 8080.
    static func ipv4(_ last: UInt8) -> [UInt8] {
        Self.signature + [0x21, 0x11, 0, 12] + [192, 0, 2, last, 198, 51, 100, 1, 0x1F, 0x90, 0x01, 0xBB]
    }

    /// TCP over IPv6 from 2001:db8:1:2::`last`, port 8080.
    static func ipv6(_ last: UInt8) -> [UInt8] {
        let network: [UInt8] = [0x20, 0x01, 0x0D, 0xB8, 0, 1, 0, 2]
        let to: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]
        return Self.signature + [0x21, 0x21, 0, 36] + network + [0, 0, 0, 0, 0, 0, 0, last] + to
            + [0x1F, 0x90, 0x01, 0xBB]
    }

    /// The header of the balancer's own connection, for its health check.
    static let local: [UInt8] = Self.signature + [0x20, 0x00, 0, 0]
}
