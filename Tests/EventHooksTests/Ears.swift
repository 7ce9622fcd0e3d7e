import EventHooks
import Foundation
import Glibc
import Logging
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// A named pipe that programs write lines to.
final class PipeEar: Sendable {
    let path: String
    private let lines: AsyncStream<String>
    private let descriptor: Int32

    init(in folder: TemporaryFolder) throws {
        self.path = folder.file("ear")
        guard unsafe mkfifo(self.path, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
        // For reading and writing, so that it neither waits for a writer nor ends with one.
        let descriptor = unsafe open(self.path, O_RDWR | O_CLOEXEC)
        self.descriptor = descriptor
        let (lines, heard) = AsyncStream<String>.makeStream()
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
                    if line == "over" { heard.finish() } else { heard.yield(line) }
                }
            }
        }
        thread.start()
    }

    /// The next lines, waiting for them.
    func next(_ count: Int) async -> [String] { await first(count, of: self.lines) }

    deinit { unsafe write(self.descriptor, "over\n", 5) }
}

/// A program's end of a Unix socket.
final class SocketEar: Sendable {
    /// How it behaves.
    enum Manner: Sendable {
        case listens
        /// Reads one line of each connection and closes it.
        case leaves
        /// Writes a megabyte of no meaning to whoever connects.
        case talks
        /// Never reads.
        case ignores
    }

    private let lines: AsyncStream<String>
    private let channel: any Channel
    private let connections: Connections

    init(at path: String, _ manner: Manner) async throws {
        let (lines, heard) = AsyncStream<String>.makeStream()
        self.lines = lines
        let connections = Connections()
        self.connections = connections
        self.channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.autoRead, value: manner != .ignores)
            .childChannelInitializer { channel in
                connections.all.withLock { $0.append(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(manner, heard))
                }
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
    }

    func next(_ count: Int) async -> [String] { await first(count, of: self.lines) }

    /// What nobody closes lives until the process ends; a connection that never reads does not see its peer's end.
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
        private let manner: Manner
        private let heard: AsyncStream<String>.Continuation
        private var text = ""

        init(_ manner: Manner, _ heard: AsyncStream<String>.Continuation) {
            self.manner = manner
            self.heard = heard
        }

        func channelActive(context: ChannelHandlerContext) {
            guard self.manner == .talks else { return }
            let noise = ByteBuffer(repeating: 0x7B, count: 1 << 20)
            context.writeAndFlush(self.wrapOutboundOut(noise), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.text += String(buffer: self.unwrapInboundIn(data))
            while let end = self.text.firstIndex(of: "\n") {
                self.heard.yield(String(self.text[..<end]))
                self.text.removeSubrange(...end)
                if self.manner == .leaves { return context.close(promise: nil) }
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

/// What is logged, to be waited for.
struct LogEar: LogHandler {
    let lines: AsyncStream<String>
    private let heard: AsyncStream<String>.Continuation
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    init() { (self.lines, self.heard) = AsyncStream.makeStream() }

    var logger: Logger { Logger(label: "test") { _ in self } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        self.heard.yield("\(event.level) \(event.message)\(values)")
    }

    /// Returns once a line has all of these parts.
    func hears(_ parts: String...) async -> Bool {
        await happens {
            for await line in self.lines where parts.allSatisfy(line.contains) { return }
        }
    }
}

/// A receiver in this process that does not take the first so many lines, and all that come after them.
final class FickleReceiver: EventReceiver {
    private struct State {
        var refusals: Int
        var lines: [String] = []
    }

    private let state: Mutex<State>

    init(refusing refusals: Int) { self.state = Mutex(State(refusals: refusals)) }

    let name = "fickle"
    var kind: EventReceiverKind { .program }

    /// What it has taken.
    var lines: [String] { self.state.withLock { $0.lines } }

    func open(_ feed: @escaping @Sendable (LineWriter) async throws -> Void) async throws(ReceiverFailure) {
        do {
            try await feed { line in
                let isTaken = self.state.withLock { state in
                    guard state.refusals == 0 else {
                        state.refusals -= 1
                        return false
                    }
                    state.lines.append(String(decoding: line, as: UTF8.self))
                    return true
                }
                guard isTaken else { throw ReceiverFailure.ended("refused") }
            }
        } catch {
            throw .ended("refused")
        }
    }
}
