internal import HostSystem
package import NIOCore
internal import NIOPosix
internal import Synchronization

/// A Unix socket on which a daemon answers each line with one line, one at a time on a connection.
///
/// The file's permissions decide which processes can connect, as those of ``LocalListener`` do. A connection that sends
/// more than a line before the answer, or a longer one than allowed, breaks the protocol and is closed.
package final class LineListener: Sendable {
    /// Limits for each connection, and for the number of connections.
    package struct Limits: Sendable {
        package var connections: Int
        /// The maximum length of a line in bytes, with its end.
        package var lineByteCount: Int

        package init(connections: Int, lineByteCount: Int) {
            (self.connections, self.lineByteCount) = (connections, lineByteCount)
        }
    }

    /// Answers a line by succeeding the promise, on any thread.
    package typealias Answer = @Sendable (_ line: String, _ answer: EventLoopPromise<String>) -> Void

    private let channel: any Channel
    private let file: SocketFile

    private init(_ channel: any Channel, _ file: SocketFile) {
        (self.channel, self.file) = (channel, file)
    }

    /// Listens at `path`, replacing a socket left behind by an earlier process.
    ///
    /// - Parameters:
    ///   - group: A group whose members may connect, in addition to the owner.
    ///   - acceptFailure: Called with the reason if a connection cannot be accepted.
    package static func bind(
        path: String,
        group: UInt32?,
        limits: Limits,
        acceptFailure: @escaping @Sendable (String) -> Void,
        answer: @escaping Answer
    ) async throws(ListenError) -> LineListener {
        let (descriptor, file) = try UnixSocket.listen(at: path, group: group, backlog: ConnectionListener.backlog)
        let open = Mutex(0)
        let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: ConnectionListener.backlog)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptBackoff(report: acceptFailure))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let isAdmitted = open.withLock { open in
                        guard open < limits.connections else { return false }
                        open += 1
                        return true
                    }
                    guard isAdmitted else { throw ChannelError.ioOnClosedChannel }
                    channel.closeFuture.whenComplete { _ in open.withLock { $0 -= 1 } }
                    try channel.pipeline.syncOperations.addHandler(LineHandler(limits.lineByteCount, answer))
                }
            }
        do {
            return LineListener(try await bootstrap.withBoundSocket(descriptor).get(), file)
        } catch {
            file.remove()
            throw ListenError(error, address: path)
        }
    }

    /// Stops accepting connections and removes the socket; open connections stay.
    package func stop() async {
        self.file.remove()
        try? await self.channel.close()
    }
}

/// Collects a line, and sends the answer to it.
private final class LineHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let byteCount: Int
    private let answer: LineListener.Answer
    private var line: [UInt8] = []
    private var isAnswering = false

    init(_ byteCount: Int, _ answer: @escaping LineListener.Answer) {
        (self.byteCount, self.answer) = (byteCount, answer)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.line += self.unwrapInboundIn(data).readableBytesView
        let end = self.line.firstIndex(of: UInt8(ascii: "\n"))
        // A second line during the answer to the first one could get an answer that is not its own.
        guard !self.isAnswering, self.line.count <= self.byteCount, (end ?? self.line.count) >= self.line.count - 1
        else { return context.close(promise: nil) }
        guard let end else { return }
        let line = String(decoding: self.line[..<end], as: UTF8.self)
        self.line.removeAll(keepingCapacity: true)
        self.isAnswering = true
        let promise = context.eventLoop.makePromise(of: String.self)
        promise.futureResult.assumeIsolated().whenSuccess { text in
            self.isAnswering = false
            context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
        }
        self.answer(line, promise)
    }
}
