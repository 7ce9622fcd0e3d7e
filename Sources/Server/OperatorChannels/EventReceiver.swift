package import ChildPrograms
internal import Dispatch
internal import HostSystem
internal import NIOCore
internal import NIOPosix
internal import Subprocess
internal import Synchronization
internal import SystemPackage

/// A receiver of event lines: a program or a socket.
package protocol EventReceiver: Sendable {
    /// The name shown in the log.
    var name: String { get }

    /// The kind shown in metrics.
    ///
    /// Must not contain text chosen by the operator.
    var kind: EventReceiverKind { get }

    /// Connects to the receiver while `feed` runs, and passes its messages to `messages`.
    ///
    /// Returns after `feed` has ended and all resources have been released. Returns promptly if the task is cancelled,
    /// even if the receiver is busy.
    func open(
        messages: ProgramMessages,
        _ feed: @escaping @Sendable (LineWriter) async throws -> Void
    ) async throws(ReceiverFailure)

    /// Kills any process started by the receiver, without waiting, because this process is about to exit.
    func endAtOnce()
}

extension EventReceiver {
    /// Does nothing.
    ///
    /// A receiver that was not started by this process keeps running.
    package func endAtOnce() {}
}

/// The kind of receiver.
package enum EventReceiverKind: String, Sendable, CaseIterable {
    case program
    case socket
}

/// Writes one line; returns once the receiver's end has accepted it.
package typealias LineWriter = @Sendable ([UInt8]) async throws -> Void

/// The reason a receiver is not accepting lines.
///
/// The feed always retries.
package enum ReceiverFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The program could not be started, or no process is listening on the socket.
    ///
    /// Check the path and its permissions.
    case notReached(String)
    /// The receiver closed its end.
    ///
    /// The unfinished line is written again after reopening.
    case ended(String)
    /// The receiver did not accept a line within the timeout and was closed.
    case stalled(Duration)

    package var description: String {
        switch self {
        case .notReached(let reason): "could not be opened: \(reason)"
        case .ended(let how): "ended: \(how)"
        case .stalled(let limit): "accepted no line for \(limit)"
        }
    }
}

/// A program that receives each event as a line on its standard input.
///
/// The program is started once and kept running, instead of being started for each event. This way, events keep their
/// order, a burst of events does not start a burst of processes, and only one process has to be killed if the program
/// hangs. It is started without a shell, in its own session, so that its children can be killed with it.
package struct ProgramReceiver: EventReceiver {
    private let path: String
    private let arguments: [String]
    private let group = StartedGroup()

    package init(path: String, arguments: [String]) {
        self.path = path
        self.arguments = arguments
    }

    /// The path without the arguments, since those may contain secrets.
    package var name: String { self.path }

    package var kind: EventReceiverKind { .program }

    package func open(
        messages: ProgramMessages,
        _ feed: @escaping @Sendable (LineWriter) async throws -> Void
    ) async throws(ReceiverFailure) {
        // A write to a program that has exited must fail instead of killing this process.
        StandardStreams.ignoreBrokenPipes()
        let status: TerminationStatus
        let mark = StartMark()
        self.group.starts()
        defer { self.group.hasEnded() }
        do {
            let run = try await Subprocess.run(
                .path(FilePath(self.path)),
                arguments: Arguments(self.arguments),
                environment: mark.environment,
                platformOptions: .ownSession,
                input: .inputWriter,
                output: .discarded,
                error: .sequence
            ) { execution in
                self.group.runs(execution.processIdentifier.value, mark)
                async let read: Void = messages.read(execution.standardError)
                do {
                    try await feed { line in
                        // A short write without an error means that the program has exited. Its successor gets the
                        // whole line.
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
            status = run.terminationStatus
        } catch {
            throw .notReached("\(error)")
        }
        switch status {
        case .exited(let code): throw .ended("status \(code)")
        case .signaled(let signal): throw .ended("signal \(signal)")
        }
    }

    package func endAtOnce() { self.group.end() }

    /// Thrown if the program does not read any more lines.
    private struct HasEnded: Error {}
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

    func starts() { self.state.withLock { $0 = .starting } }

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

/// A program that listens on a Unix socket and receives each event as a line.
///
/// The connection is never read, so a program that writes to it only blocks itself.
package struct SocketReceiver: EventReceiver {
    private let path: String
    private static let connectLimit = TimeAmount.seconds(5)

    package init(path: String) {
        self.path = path
    }

    package var name: String { self.path }

    package var kind: EventReceiverKind { .socket }

    package func open(
        messages: ProgramMessages,
        _ feed: @escaping @Sendable (LineWriter) async throws -> Void
    ) async throws(ReceiverFailure) {
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(Self.connectLimit)
                .channelOption(.autoRead, value: false)
                .connect(unixDomainSocketPath: self.path)
                .get()
        } catch {
            throw .notReached("\(error)")
        }
        let failure: ReceiverFailure?
        do {
            try await withTaskCancellationHandler {
                try await feed { line in try await channel.writeAndFlush(ByteBuffer(bytes: line)) }
            } onCancel: {
                channel.close(promise: nil)
            }
            failure = nil
        } catch {
            failure = .ended("\(error)")
        }
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
        if let failure { throw failure }
    }
}
