internal import ArgumentParser
internal import HostSystem

/// Becomes the deletion portal's program, which is one of its own so that this one does not link a web server.
struct PortalCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portal",
        abstract: "Serve the page on which people type their deletion code; the same as `remote-pin-portal`.",
        discussion: """
            All arguments go to the program `remote-pin-portal` beside this one, in whose place it runs:

              remote-pin-server portal --help
              remote-pin-server portal /srv/remote-pin
            """
    )

    private static let program = "remote-pin-portal"

    @Argument(parsing: .captureForPassthrough, help: "What `remote-pin-portal` takes; see its --help.")
    var arguments: [String] = []

    func run() async throws {
        try await ending {
            let path = try explaining(.files) { try OtherProgram.path(besideThisOne: Self.program) }
            // A plain `--` was the parser's.
            let failure = OtherProgram.become(path, arguments: self.arguments)
            throw StartFailure(
                .unavailable,
                "the portal's program cannot be started: \(failure); install `\(Self.program)` beside remote-pin-server"
            )
        }
    }
}
