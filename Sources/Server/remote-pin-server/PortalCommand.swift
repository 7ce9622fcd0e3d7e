internal import ArgumentParser
internal import ServerCommandLine

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

    func run() async throws {
        try await ending { try SiblingProgram.portal.run(self.arguments) }
    }
}
