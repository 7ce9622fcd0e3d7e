package import ChildPrograms
internal import Dispatch
internal import HostSystem
internal import Subprocess
internal import Synchronization
internal import SystemPackage

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
