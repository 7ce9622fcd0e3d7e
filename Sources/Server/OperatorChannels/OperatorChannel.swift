package import ChildPrograms
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
        case program, socket
    }

    package let kind: Kind
    package let path: String
    private let arguments: [String]
    private let running = RunningProgram()
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
        let program = self.running.starts()
        defer { self.running.hasEnded() }
        let run = try await Subprocess.run(
            .path(FilePath(self.path)),
            arguments: Arguments(self.arguments),
            environment: program.environment,
            platformOptions: .ownSession,
            input: .inputWriter,
            output: output,
            error: .sequence
        ) { execution in
            program.runs(execution.processIdentifier.value)
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
                program.end()
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
    package func endAtOnce() { self.running.end() }

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

/// The channel's running program, if any.
private final class RunningProgram: Sendable {
    private let program = Mutex<StartedProgram?>(nil)

    func starts() -> StartedProgram {
        self.program.withLock { program in
            precondition(program == nil, "a channel runs one program at a time")
            let started = StartedProgram()
            program = started
            return started
        }
    }

    /// Kills the processes that the program left behind, which would otherwise pile up with each start.
    func hasEnded() {
        self.program.withLock { program in
            program?.hasEnded(killing: true)
            program = nil
        }
    }

    func end() { self.program.withLock(\.self)?.end() }
}
