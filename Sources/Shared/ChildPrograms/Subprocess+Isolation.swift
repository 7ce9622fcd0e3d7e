internal import FoundationEssentials
package import Subprocess

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
