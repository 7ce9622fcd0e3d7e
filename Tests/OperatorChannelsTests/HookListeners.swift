import ChildPrograms
import Foundation
import Glibc
import Logging
import NIOCore
import NIOPosix
import OperatorChannels
import Synchronization
import TestSupport

/// A reader of a named pipe to which programs write lines.
final class PipeListener: Sendable {
    let path: String
    private let lines: AsyncStream<String>
    private let descriptor: Int32

    init(in folder: TemporaryFolder) throws {
        self.path = folder.file("pipe")
        guard unsafe mkfifo(self.path, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
        // Open for reading and writing, so that it neither blocks without a writer nor ends when a writer closes.
        let descriptor = unsafe open(self.path, O_RDWR | O_CLOEXEC)
        self.descriptor = descriptor
        let (lines, continuation) = AsyncStream<String>.makeStream()
        self.lines = lines
        let thread = Thread {
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = unsafe read(descriptor, &buffer, buffer.count)
                guard count > 0 else { break }
                rest += buffer.prefix(count)
                while let end = rest.firstIndex(of: 0x0A) {
                    let line = String(decoding: rest[..<end], as: UTF8.self)
                    rest.removeSubrange(...end)
                    if line == "over" { continuation.finish() } else { continuation.yield(line) }
                }
            }
        }
        thread.start()
    }

    /// Waits for the next lines.
    func next(_ count: Int) async -> [String] { await first(count, of: self.lines) }

    deinit { unsafe write(self.descriptor, "over\n", 5) }
}

/// A program that listens on a Unix socket.
final class SocketListener: Sendable {
    /// The behavior of the listener.
    enum Behavior: Sendable {
        case listens
        /// Reads one line of each connection and closes it.
        case leaves
        /// Writes a meaningless megabyte to each client.
        case talks
        /// Never reads.
        case ignores
    }

    private let lines: AsyncStream<String>
    private let channel: any Channel
    private let connections: Connections

    init(at path: String, _ behavior: Behavior) async throws {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        self.lines = lines
        let connections = Connections()
        self.connections = connections
        self.channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.autoRead, value: behavior != .ignores)
            .childChannelInitializer { channel in
                connections.all.withLock { $0.append(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(behavior, continuation))
                }
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
    }

    func next(_ count: Int) async -> [String] { await first(count, of: self.lines) }

    // Closed explicitly: a connection that never reads does not notice that its peer closed.
    deinit {
        self.channel.close(promise: nil)
        for connection in self.connections.all.withLock({ $0 }) { connection.close(promise: nil) }
    }

    private final class Connections: Sendable {
        let all = Mutex<[any Channel]>([])
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let behavior: Behavior
        private let continuation: AsyncStream<String>.Continuation
        private var text = ""

        init(_ behavior: Behavior, _ continuation: AsyncStream<String>.Continuation) {
            self.behavior = behavior
            self.continuation = continuation
        }

        func channelActive(context: ChannelHandlerContext) {
            guard self.behavior == .talks else { return }
            let noise = ByteBuffer(repeating: 0x7B, count: 1 << 20)
            context.writeAndFlush(self.wrapOutboundOut(noise), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.text += String(buffer: self.unwrapInboundIn(data))
            while let end = self.text.firstIndex(of: "\n") {
                self.continuation.yield(String(self.text[..<end]))
                self.text.removeSubrange(...end)
                if self.behavior == .leaves { return context.close(promise: nil) }
            }
        }
    }
}

private func first(_ count: Int, of lines: AsyncStream<String>) async -> [String] {
    var found: [String] = []
    for await line in lines {
        found.append(line)
        if found.count == count { break }
    }
    return found
}

/// A log handler that a test can wait on.
struct LogCapture: LogHandler {
    let lines: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    init() { (self.lines, self.continuation) = AsyncStream.makeStream() }

    var logger: Logger { Logger(label: "test") { _ in self } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        self.continuation.yield("\(event.level) \(event.message)\(values)")
    }

    /// Waits for a line that contains all of these parts.
    func receives(_ parts: String...) async -> Bool {
        await happens {
            for await line in self.lines where parts.allSatisfy(line.contains) { return }
        }
    }
}

/// An in-process receiver that rejects a given number of lines and takes all later ones.
final class FlakyReceiver: EventReceiver {
    private struct State {
        var rejections: Int
        var lines: [String] = []
    }

    private let state: Mutex<State>

    init(rejecting rejections: Int) { self.state = Mutex(State(rejections: rejections)) }

    let name = "flaky"
    var kind: OperatorChannel.Kind { .program }

    /// The accepted lines.
    var lines: [String] { self.state.withLock { $0.lines } }

    func open(
        messages: ProgramMessages,
        _ feed: @escaping @Sendable (LineWriter) async throws -> Void
    ) async throws(ReceiverFailure) {
        do {
            try await feed { line in
                let isAccepted = self.state.withLock { state in
                    guard state.rejections == 0 else {
                        state.rejections -= 1
                        return false
                    }
                    state.lines.append(String(decoding: line, as: UTF8.self))
                    return true
                }
                guard isAccepted else { throw ReceiverFailure.ended("rejected") }
            }
        } catch {
            throw .ended("rejected")
        }
    }

    func endAtOnce() {}
}
