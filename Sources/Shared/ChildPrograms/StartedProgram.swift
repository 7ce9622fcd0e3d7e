internal import Dispatch
internal import FoundationEssentials
internal import HostSystem
package import Subprocess
internal import Synchronization

/// A program that this process starts once, with all processes that the program starts.
///
/// Invariant: no moment of the start escapes ``end()``. The program may already be running while this process does not
/// know its id yet.
package final class StartedProgram: Sendable {
    private enum State {
        /// The program may already be running, but its process id is not known yet.
        case starting
        case running(leader: Int32)
        case over
    }

    private let mark = StartMark()
    private let state = Mutex(State.starting)
    private let isKnown = DispatchSemaphore(value: 0)
    /// The time to wait for a start in progress.
    private static let patience = DispatchTimeInterval.seconds(1)

    /// Call before the start.
    package init() {}

    /// The environment to start the program with.
    package var environment: Environment { self.mark.environment }

    package func runs(_ leader: Int32) {
        self.state.withLock { $0 = .running(leader: leader) }
        self.isKnown.signal()
    }

    /// Forgets the process id, which the system may reuse after the program's end.
    ///
    /// - Parameter rest: Whether to kill the processes that the program left behind.
    package func hasEnded(killing rest: Bool) {
        self.state.withLock { state in
            if rest, case .running(let leader) = state { self.mark.end(leader) }
            state = .over
        }
        self.isKnown.signal()
    }

    /// Kills the program and all processes that it started; waits briefly if the start is in progress.
    package func end() {
        let deadline = DispatchTime.now() + Self.patience
        while self.state.withLock({ if case .starting = $0 { true } else { false } }) {
            guard self.isKnown.wait(timeout: deadline) == .success else { break }
        }
        self.state.withLock { if case .running(let leader) = $0 { self.mark.end(leader) } }
    }
}

/// A mark in the environment of a started program, which every process that it starts inherits.
///
/// A process that calls setsid(2) leaves the program's group and, once its parent has ended, is no descendant of it
/// either. Without privileges, the mark still finds it. A process that clears its environment is not found.
private struct StartMark {
    private static let name: Environment.Key = "PIN_PROGRAM_START"
    private let value = String(UInt64.random(in: .min ... .max), radix: 16)

    /// The variables of ``Subprocess/Environment/minimal`` and the mark.
    var environment: Environment { .minimal.updating([Self.name: self.value]) }

    /// Kills the group that the program leads, and all processes with the mark; blocks for a few milliseconds.
    ///
    /// - Parameter leader: The program's process id, which must not belong to another process yet.
    func end(_ leader: Int32) {
        ProcessEnd.ofGroup(leader)
        ProcessEnd.ofAll(with: "\(Self.name.rawValue)=\(self.value)")
    }
}

extension PlatformOptions {
    /// A separate session, so that cancelling a call kills the program and its children at once.
    package static var ownSession: PlatformOptions {
        var options = PlatformOptions()
        options.createSession = true
        options.teardownSequence = [
            .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .milliseconds(100))
        ]
        return options
    }
}

extension Environment {
    /// The variables that most programs need, without the rest of this process's environment, which may hold secrets.
    package static var minimal: Environment {
        let own = ProcessInfo.processInfo.environment
        let names: [Key] = ["PATH", "HOME", "LANG", "TMPDIR"]
        let variables: [Key: String] = names.reduce(into: [:]) { $0[$1] = own[$1.rawValue] }
        return .custom(variables)
    }
}
