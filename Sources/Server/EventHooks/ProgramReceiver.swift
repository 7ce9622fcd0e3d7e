internal import Dispatch
internal import FoundationEssentials
internal import HostSystem
internal import Subprocess
internal import Synchronization
internal import SystemPackage

/// A program that gets each event as a line on its standard input.
///
/// It is started once and kept, not once for each event: events keep their order, a flood of them starts no flood of
/// processes, and a program that hangs is one process that is ended. It is started without a shell, in a session of its own,
/// so that ending it ends all that it has started.
package struct ProgramReceiver: EventReceiver {
    private let path: String
    private let arguments: [String]
    private let group = StartedGroup()

    package init(path: String, arguments: [String]) {
        self.path = path
        self.arguments = arguments
    }

    /// The path alone: arguments may hold what nobody should read.
    package var name: String { self.path }

    package var kind: EventReceiverKind { .program }

    package func open(_ feed: @escaping @Sendable (LineWriter) async throws -> Void) async throws(ReceiverFailure) {
        // Writing to a program that has ended must fail, not end this process.
        StandardStreams.ignoreBrokenPipes()
        var options = PlatformOptions()
        options.createSession = true
        options.teardownSequence = [
            .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .milliseconds(100))
        ]
        let status: TerminationStatus
        self.group.starts()
        defer { self.group.hasEnded() }
        do {
            let run = try await Subprocess.run(
                .path(FilePath(self.path)),
                arguments: Arguments(self.arguments),
                environment: .custom(Self.environment),
                platformOptions: options,
                input: .inputWriter,
                output: .discarded,
                error: .currentStandardError
            ) { execution in
                self.group.runs(execution.processIdentifier.value)
                do {
                    try await feed { line in
                        // Less than the line, and no error, where the program has ended: the next one gets it whole.
                        let written = try await execution.standardInputWriter.write(line)
                        guard written == line.count else { throw HasEnded() }
                    }
                    try await execution.standardInputWriter.finish()
                } catch {
                    // One that closed its end and stays would be waited for.
                    try? execution.send(signal: .kill, toProcessGroup: true)
                }
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

    /// The program takes no more lines.
    private struct HasEnded: Error {}

    /// What a program needs to run, and nothing else of what the server was started with.
    private static var environment: [Environment.Key: String] {
        var environment: [Environment.Key: String] = [:]
        let own = ProcessInfo.processInfo.environment
        for name in ["PATH", "HOME", "LANG", "TMPDIR"] {
            if let value = own[name], let key = Environment.Key(rawValue: name) { environment[key] = value }
        }
        return environment
    }
}

/// The processes of a program that runs: its session is its process group as well.
private final class StartedGroup: Sendable {
    private enum State {
        case none
        /// It may run already, and nobody has been told its number.
        case starting
        case running(leader: Int32)
    }

    private let state = Mutex(State.none)
    private let isKnown = DispatchSemaphore(value: 0)
    /// For a start to come to its end.
    private static let patience = DispatchTimeInterval.seconds(1)

    func starts() { self.state.withLock { $0 = .starting } }

    func runs(_ leader: Int32) {
        self.state.withLock { $0 = .running(leader: leader) }
        self.isKnown.signal()
    }

    /// Its number may soon be another one's.
    func hasEnded() {
        self.state.withLock { $0 = .none }
        self.isKnown.signal()
    }

    /// Ends what runs; what is being started as well.
    func end() {
        let deadline = DispatchTime.now() + Self.patience
        while self.state.withLock({ if case .starting = $0 { true } else { false } }) {
            guard self.isKnown.wait(timeout: deadline) == .success else { break }
        }
        self.state.withLock { if case .running(let leader) = $0 { ProcessEnd.ofGroup(leader) } }
    }
}
