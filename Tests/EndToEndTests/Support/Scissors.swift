import LabFiles
import NIOCore
import NIOPosix
import Synchronization
import HostSystem
import TestSupport

/// A wire with a cut in it.
///
/// TLS records pass both ways as they are, until the n-th encrypted one of the client has arrived at the server. What
/// the server answers to it is lost, and the connection with it; later connections are whole.
///
/// Every call is such a record, so that a run cut at each n loses each of its replies once.
final class Scissors: Sendable {
    /// A lab's folder whose server is behind the wire.
    let folder: String
    private let records: RecordCount

    /// Whether the client sent as many records.
    var hasCut: Bool { self.records.isOver }

    init(before lab: LabUnderTest, cutAt record: Int) async throws {
        self.folder = "\(lab.folder)/scissors-\(UInt64.random(in: 0 ... .max))"
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

/// The client's encrypted records until the cut, over all connections.
private final class RecordCount: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) {
        self.left = Mutex(count)
    }

    var isOver: Bool { self.left.withLock { $0 <= 0 } }

    /// One more has come; true for the one at which to cut.
    func isLast() -> Bool {
        self.left.withLock { left in
            left -= 1
            return left == 0
        }
    }
}

/// Whether the two ends are still joined; used on their event loop alone.
private final class Wire {
    var isCut = false
}

/// From the client to the server, one TLS record at a time (RFC 8446 §5.1).
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

/// From the server to the client; the first that comes after the cut is the reply that is lost.
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
