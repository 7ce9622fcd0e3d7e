import LabFiles
import NIOCore
import NIOPosix
import Synchronization
import HostSystem
import TestSupport

/// A proxy that cuts one connection.
///
/// TLS records pass unchanged in both directions until the n-th encrypted record of the client has reached the server.
/// The server's answer to it is lost and the connection closed; later connections are forwarded whole.
///
/// Every call is one such record, so a run for each n loses each of its replies once.
final class CuttingProxy: Sendable {
    /// The folder of a lab whose server address is the proxy's.
    let folder: String
    private let records: RecordCount

    /// Whether the client sent as many records as the cut needs.
    var hasCut: Bool { self.records.isOver }

    init(before lab: LabUnderTest, cutAt record: Int) async throws {
        self.folder = "\(lab.folder)/cutting-proxy-\(UInt64.random(in: 0 ... .max))"
        let records = RecordCount(record)
        self.records = records
        var file = try LabFile(of: lab.lab)
        let (host, port) = (file.host, file.port)
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).connect(host: host, port: port).flatMapThrowing { server in
                    let wire = Wire()
                    try client.pipeline.syncOperations.addHandler(Upward(to: server, wire, records))
                    try server.pipeline.syncOperations.addHandler(Downward(to: client, wire))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        file.port = try (listener.localAddress?.port).orThrow()
        try DurableFile.makeFolder(self.folder)
        try file.write(to: LabFolder(self.folder))
    }
}

/// Counts the client's encrypted records over all connections, until the cut.
private final class RecordCount: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) {
        self.left = Mutex(count)
    }

    var isOver: Bool { self.left.withLock { $0 <= 0 } }

    /// Counts a record; returns true for the one at which to cut.
    func isLast() -> Bool {
        self.left.withLock { left in
            left -= 1
            return left == 0
        }
    }
}

/// Whether the two ends are still connected; used on their event loop only.
private final class Wire {
    var isCut = false
}

/// Forwards from client to server, one TLS record at a time (RFC 8446 §5.1).
private final class Upward: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private static let encrypted: UInt8 = 23
    private static let headerByteCount = 5

    private let server: any Channel
    private let wire: Wire
    private let records: RecordCount
    private var pending = ByteBuffer()

    init(to server: any Channel, _ wire: Wire, _ records: RecordCount) {
        self.server = server
        self.wire = wire
        self.records = records
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.pending.writeBuffer(&bytes)
        while !self.wire.isCut, let record = self.nextRecord() {
            if record.getInteger(at: record.readerIndex) == Self.encrypted { self.wire.isCut = self.records.isLast() }
            self.server.writeAndFlush(record, promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.server.close(promise: nil)
    }

    private func nextRecord() -> ByteBuffer? {
        let start = self.pending.readerIndex
        guard let length = self.pending.getInteger(at: start + 3, as: UInt16.self) else { return nil }
        return self.pending.readSlice(length: Self.headerByteCount + Int(length))
    }
}

/// Forwards from server to client; drops the first bytes after the cut, which are the lost reply.
private final class Downward: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let client: any Channel
    private let wire: Wire

    init(to client: any Channel, _ wire: Wire) {
        self.client = client
        self.wire = wire
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.wire.isCut {
            context.close(promise: nil)
        } else {
            self.client.writeAndFlush(self.unwrapInboundIn(data), promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.client.close(promise: nil)
    }
}
