internal import HostSystem
internal import ServerCommandLine

/// A program in the same folder that this process can be replaced with.
enum SiblingProgram: String {
    case lab = "remote-pin-lab"
    case portal = "remote-pin-portal"

    /// Replaces this process with the other program.
    ///
    /// Only returns by throwing. The argument parser has already removed a plain `--`.
    ///
    /// - Throws: A ``StartFailure`` if the program cannot be started.
    func run(_ arguments: [String]) throws -> Never {
        let path = try explaining(.files) { try OtherProgram.path(besideThisOne: self.rawValue) }
        let reason = OtherProgram.become(path, arguments: arguments)
        throw StartFailure(
            .unavailable,
            "cannot start `\(self.rawValue)`: \(reason); install it in the folder of `remote-pin-server`\(self.package)"
        )
    }

    /// The Debian package containing the program, for the error message.
    private var package: String {
        switch self {
        case .lab: " (Debian package remote-pin-tools)"
        case .portal: " (Debian package remote-pin-portal)"
        }
    }
}
