package import ChildPrograms
internal import Dispatch
internal import HostSystem
package import Logging
internal import NIOCore
internal import NIOPosix
internal import Subprocess
internal import Synchronization
internal import SystemPackage
internal import Telemetry

/// An operator's program or Unix socket, to which the server writes lines.
///
/// A program is started without a shell, in its own session, so that its children can be killed with it.
package struct OperatorChannel: Sendable {
    /// The kind of channel shown in metrics.
    package enum Kind: String, Sendable, CaseIterable {
        case program
        case socket
    }

    package let kind: Kind
    package let path: String
    private let arguments: [String]
    private let group = StartedGroup()
    private static let connectLimit = TimeAmount.seconds(5)

    package static func program(_ path: String, arguments: [String]) -> Self {
        Self(kind: .program, path: path, arguments: arguments)
    }

    package static func socket(_ path: String) -> Self { Self(kind: .socket, path: path, arguments: []) }

    /// Returns the configured channels: a program, a socket or both.
    static func named(program: String?, arguments: [String], socket: String?) -> [Self] {
        [program.map { .program($0, arguments: arguments) }, socket.map { .socket($0) }].compactMap(\.self)
    }

    /// Runs the program while `feed` writes to its standard input, and passes its messages to `messages`.
    ///
    /// Returns after the program has ended and the processes that it left behind, which would otherwise pile up with
    /// each start, have been killed. A channel runs one program at a time.
    func run<Output: OutputProtocol>(
        output: Output,
        messages: ProgramMessages,
        _ feed: @Sendable (LineWriter) async throws -> Void
    ) async throws -> (output: Output.OutputType, status: TerminationStatus) {
        // A write to a program that has exited must fail instead of killing this process.
        StandardStreams.ignoreBrokenPipes()
        let mark = StartMark()
        self.group.starts()
        defer { self.group.hasEnded() }
        let run = try await Subprocess.run(
            .path(FilePath(self.path)),
            arguments: Arguments(self.arguments),
            environment: mark.environment,
            platformOptions: .ownSession,
            input: .inputWriter,
            output: output,
            error: .sequence
        ) { execution in
            self.group.runs(execution.processIdentifier.value, mark)
            async let read: Void = messages.read(execution.standardError)
            do {
                try await feed { line in
                    // A short write without an error means that the program has exited. Its successor gets the whole
                    // line.
                    let written = try await execution.standardInputWriter.write(line)
                    guard written == line.count else { throw HasEnded() }
                }
                try await execution.standardInputWriter.finish()
            } catch {
                // If the program closed its input but kept running, this call would block.
                mark.end(execution.processIdentifier.value)
            }
            await read
        }
        return (run.standardOutput, run.terminationStatus)
    }

    /// Connects to the socket.
    ///
    /// - Parameter reads: Whether to read. A program that is never read from, and writes, only blocks itself.
    func connect(reads: Bool) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connectTimeout(Self.connectLimit)
            .channelOption(.autoRead, value: reads)
            .connect(unixDomainSocketPath: self.path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
    }

    /// Kills the running program without waiting, because this process is about to exit.
    package func endAtOnce() { self.group.end() }

    /// Thrown if the program does not read any more lines.
    private struct HasEnded: Error {}
}

/// Writes one line; returns once the receiver's end has accepted it.
package typealias LineWriter = @Sendable ([UInt8]) async throws -> Void

extension TerminationStatus {
    /// The status or signal with which the program ended.
    var spoken: String {
        switch self {
        case .exited(let code): "status \(code)"
        case .signaled(let signal): "signal \(signal)"
        }
    }
}

extension ProgramMessages {
    /// Logs each line as a warning.
    package static func logged(_ message: Logger.Message, _ metadata: Logger.Metadata = [:], in log: Logger) -> Self {
        Self { line, suppressed in
            let metadata = metadata.merging(["text": "\(line)"]) { $1 }
            log.warning(message, metadata: LogRateLimiter.metadata(metadata, suppressed: suppressed))
        }
    }
}

/// The running program, with all processes that it started.
private final class StartedGroup: Sendable {
    private enum State {
        case none
        /// The program may already be running, but its process id is not known yet.
        case starting
        case running(leader: Int32, StartMark)
    }

    private let state = Mutex(State.none)
    private let isKnown = DispatchSemaphore(value: 0)
    /// The time to wait for a start in progress.
    private static let patience = DispatchTimeInterval.seconds(1)

    func starts() {
        self.state.withLock { state in
            guard case .none = state else { preconditionFailure("a channel runs one program at a time") }
            state = .starting
        }
    }

    func runs(_ leader: Int32, _ mark: StartMark) {
        self.state.withLock { $0 = .running(leader: leader, mark) }
        self.isKnown.signal()
    }

    /// Kills the processes that the program left behind, which would otherwise pile up with each start, and forgets the
    /// process id, which the system may reuse.
    func hasEnded() {
        self.state.withLock { state in
            if case .running(let leader, let mark) = state { mark.end(leader) }
            state = .none
        }
        self.isKnown.signal()
    }

    /// Kills them, after waiting briefly if a start is in progress.
    func end() {
        let deadline = DispatchTime.now() + Self.patience
        while self.state.withLock({ if case .starting = $0 { true } else { false } }) {
            guard self.isKnown.wait(timeout: deadline) == .success else { break }
        }
        self.state.withLock { if case .running(let leader, let mark) = $0 { mark.end(leader) } }
    }
}
