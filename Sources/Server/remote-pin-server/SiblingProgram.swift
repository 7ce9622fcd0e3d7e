internal import ArgumentParser
internal import HostSystem
internal import ServerSettings

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

/// Runs the lab program.
///
/// It is a separate program so that this one contains no test authority.
struct LabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lab",
        abstract: "Create and serve labs; the same as `remote-pin-lab`.",
        discussion: """
            Runs the program `remote-pin-lab` from this program's folder with all arguments:

              remote-pin-server lab --help
              remote-pin-server lab up /tmp/lab
            """
    )

    @Argument(parsing: .captureForPassthrough, help: "Arguments of `remote-pin-lab`; see its --help.")
    var arguments: [String] = []

    func run() async throws { try await ending { try SiblingProgram.lab.run(self.arguments) } }
}

/// Runs the deletion portal.
///
/// It is a separate program so that this one does not link a web server.
struct PortalCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portal",
        abstract: "Serve the page on which users enter their deletion code; the same as `remote-pin-portal`.",
        discussion: """
            Runs the program `remote-pin-portal` from this program's folder with all arguments:

              remote-pin-server portal --help
              remote-pin-server portal /srv/remote-pin
            """
    )

    @Argument(parsing: .captureForPassthrough, help: "Arguments of `remote-pin-portal`; see its --help.")
    var arguments: [String] = []

    func run() async throws { try await ending { try SiblingProgram.portal.run(self.arguments) } }
}
