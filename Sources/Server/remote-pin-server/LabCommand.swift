internal import ArgumentParser
internal import ServerCommandLine

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

    func run() async throws {
        try await ending { try SiblingProgram.lab.run(self.arguments) }
    }
}
