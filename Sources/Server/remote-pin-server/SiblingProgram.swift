internal import HostSystem
internal import ServerCommandLine

/// A program in the same folder that can replace this one in its process.
enum SiblingProgram: String {
    case lab = "remote-pin-lab"
    case portal = "remote-pin-portal"

    /// Replaces this program with the other, and returns only by throwing.
    ///
    /// The argument parser has already removed a plain `--`.
    ///
    /// - Throws: a ``StartFailure`` if the program cannot be started.
    func run(_ arguments: [String]) throws -> Never {
        let path = try explaining(.files) { try OtherProgram.path(besideThisOne: self.rawValue) }
        let reason = OtherProgram.become(path, arguments: arguments)
        throw StartFailure(
            .unavailable,
            "cannot start `\(self.rawValue)`: \(reason); install it in the folder of `remote-pin-server`\(self.package)"
        )
    }

    /// The Debian package that contains the program, for the error message.
    private var package: String {
        switch self {
        case .lab: " (Debian package remote-pin-tools)"
        case .portal: " (Debian package remote-pin-portal)"
        }
    }
}
