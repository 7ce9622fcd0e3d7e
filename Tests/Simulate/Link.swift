internal import NIOCore
internal import NIOEmbedded
@testable import Transport
internal import Vocabulary

/// A connection between a phone and a server: the production code above TLS at both ends, and the network in between.
///
/// TLS gives an ordered stream or ends the connection. A lost, duplicated or reordered packet therefore only delays
/// bytes or cuts the connection. ``Fault`` also repeats and exchanges whole frames, which TLS would not deliver.
final class Link: @unchecked Sendable {
    enum Direction { case toServer, toClient }

    /// One end of the connection.
    private final class End {
        let process: SimulatedProcess
        let channel: EmbeddedChannel
        /// Bytes and the end of the stream travel in order.
        var arrival: Int64 = 0
        /// The end was told that the connection is over, or has closed it.
        var isOver = false
        /// The bytes of an incomplete frame that this end has sent.
        var partial = ByteBuffer()
        /// The frames that wait in this end's machine until the other machine takes them.
        var waiting: [ByteBuffer] = []
        let closing = ClosesBothDirections()

        init(_ process: SimulatedProcess) {
            self.process = process
            self.channel = EmbeddedChannel(loop: process.loop)
        }
    }

    let number: Int
    private let client: End
    private let server: End
    private let network: Network
    private var isCut = false
    /// Whether the client's machine takes no bytes at present.
    private var keepsAnswers = false

    init(number: Int, client: SimulatedProcess, server: SimulatedProcess, network: Network) {
        self.number = number
        self.client = End(client)
        self.server = End(server)
        self.network = network
    }

    /// The keying material that both ends would export from TLS.
    var channelBinding: ChannelBinding {
        var bytes = [UInt8](repeating: 0, count: 24)
        bytes.append(bigEndian: UInt64(self.number), byteCount: 8)
        guard let binding = ChannelBinding(bytes) else { preconditionFailure("a channel binding has 32 bytes") }
        return binding
    }

    /// Connects the client's end; called in its process.
    func connectClient() throws -> ClientConnection {
        let channel = self.client.channel
        try channel.pipeline.syncOperations.addHandler(self.client.closing)
        let connection = try ClientConnection(on: channel, channelBinding: self.channelBinding)
        try self.connect(self.client)
        return connection
    }

    /// Connects the server's end; called in its process.
    func connectServer() throws -> ServerConnection {
        let limits = TransportLimits()
        let channel = self.server.channel
        try channel.pipeline.syncOperations.addHandler(self.server.closing)
        let frames = try FrameChannel(
            on: channel,
            peer: nil,
            limits: limits,
            isSecure: false,
            onOpen: { _, _ in },
            onFailure: { _ in }
        )
        try self.connect(self.server)
        return ServerConnection(frames, channelBinding: self.channelBinding, limits: limits)
    }

    private func connect(_ end: End) throws {
        end.channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        end.process.loop.run()
        end.process.add(self)
    }

    private func end(of process: SimulatedProcess) -> End {
        process === self.client.process ? self.client : self.server
    }
    private func other(_ end: End) -> End { end === self.client ? self.server : self.client }

    func isOver(for process: SimulatedProcess) -> Bool { self.end(of: process).isOver }

    /// The process of the server.
    var serverProcess: SimulatedProcess { self.server.process }

    /// Takes what an end has sent, or its close, and puts it on the way.
    func collect(from process: SimulatedProcess) {
        let end = self.end(of: process)
        guard !end.isOver else { return }
        while let bytes = (try? end.channel.readOutbound(as: ByteBuffer.self)) ?? nil { self.send(bytes, from: end) }
        guard !end.channel.isActive else { return }
        if end.closing.isAborted { end.waiting = [] }
        self.finish(end)
        self.deliverEnd(to: self.other(end))
    }

    /// Cuts off whole frames, shows them to the observer and sends them.
    private func send(_ bytes: ByteBuffer, from end: End) {
        self.client.process.noteActivity()
        self.server.process.noteActivity()
        var bytes = bytes
        end.partial.writeBuffer(&bytes)
        let direction: Direction = end === self.client ? .toServer : .toClient
        while let count = end.partial.getInteger(at: end.partial.readerIndex, as: UInt32.self),
            let frame = end.partial.readSlice(length: 4 + Int(count))
        {
            if direction == .toClient, self.keepsAnswers {
                self.network.observer.note("connection \(self.number)", "an answer waits in the server's machine")
                end.waiting.append(frame)
            } else {
                self.leave(frame, direction)
            }
        }
    }

    /// Lets a frame leave the machine of its sender.
    private func leave(_ frame: ByteBuffer, _ direction: Direction) {
        self.network.observer.sent(Array(frame.readableBytesView.dropFirst(4)), direction, on: self)
        let end = direction == .toClient ? self.client : self.server
        for frame in self.network.altered(frame, direction, on: self) { self.carry(frame, to: end) }
    }

    /// Keeps answers in the server's machine until ``releaseAnswers()``, unless the server aborts the connection.
    func keepAnswers() { self.keepsAnswers = true }

    func releaseAnswers() {
        self.keepsAnswers = false
        let frames = self.server.waiting
        self.server.waiting = []
        for frame in frames { self.leave(frame, .toClient) }
    }

    /// Drops the frames that wait in the machine of a process.
    func dropWaitingAnswers(of process: SimulatedProcess) { self.end(of: process).waiting = [] }

    private func carry(_ frame: ByteBuffer, to end: End) {
        guard !self.isCut else { return }
        end.arrival = max(end.arrival, self.network.scheduler.now + self.network.latency(of: self))
        let delay = end.arrival - self.network.scheduler.now
        self.network.scheduler.schedule(after: delay, in: end.process) {
            guard !end.isOver, end.channel.isActive else { return }
            if end === self.server {
                self.network.reachesServer(frame, on: self)
            } else {
                self.network.observer.arrived(Array(frame.readableBytesView.dropFirst(4)), on: self)
            }
            for piece in self.network.pieces(of: frame) { _ = try? end.channel.writeInbound(piece) }
        }
    }

    private func deliverEnd(to end: End) {
        guard !end.isOver else { return }
        end.arrival = max(end.arrival, self.network.scheduler.now + self.network.latency(of: self))
        self.network.scheduler.schedule(after: end.arrival - self.network.scheduler.now, in: end.process) {
            self.close(end)
        }
    }

    private func close(_ end: End) {
        guard !end.isOver else { return }
        end.channel.close(promise: nil)
        end.process.loop.run()
        self.finish(end)
    }

    private func finish(_ end: End) {
        guard !end.isOver else { return }
        end.isOver = true
        if end === self.client { self.network.observer.ended(self) }
    }

    /// Ends the connection for the other end, because this process was killed.
    func lose(_ process: SimulatedProcess) {
        let end = self.end(of: process)
        guard !end.isOver else { return }
        end.waiting = []
        self.finish(end)
        self.deliverEnd(to: self.other(end))
    }

    /// Cuts the connection: frames that are on the way may still arrive, and later ones do not.
    func cut() {
        guard !self.isCut else { return }
        self.isCut = true
        self.server.waiting = []
        self.deliverEnd(to: self.client)
        self.deliverEnd(to: self.server)
    }
}

/// Closes without waiting for the other direction, which an embedded channel does not have.
private final class ClosesBothDirections: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    /// True once the connection was aborted, which discards what has not left the machine (`SO_LINGER`).
    private(set) var isAborted = false

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if event is TLSAbort { self.isAborted = true }
        promise?.succeed()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        context.close(mode: .all, promise: promise)
    }
}
