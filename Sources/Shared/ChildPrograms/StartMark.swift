internal import FoundationEssentials
internal import HostSystem
package import Subprocess

/// A mark in the environment of a started program, which every process that it starts inherits.
///
/// A process that calls setsid(2) leaves the program's group and, once its parent has ended, is no descendant of it
/// either. Without privileges, the mark still finds it. A process that clears its environment is not found.
package struct StartMark: Hashable, Sendable {
    private static let name: Environment.Key = "PIN_PROGRAM_START"
    private let value: String

    /// Creates a mark for one start of a program.
    package init() {
        self.value = String(UInt64.random(in: .min ... .max), radix: 16)
    }

    /// The variables of ``Subprocess/Environment/minimal`` and the mark.
    package var environment: Environment { .minimal.updating([Self.name: self.value]) }

    /// Kills the group that the program leads, and all processes with the mark; blocks for a few milliseconds.
    ///
    /// - Parameter leader: The program's process id, which must not belong to another process yet.
    package func end(_ leader: Int32) {
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
