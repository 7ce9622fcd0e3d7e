import ArgumentParser

/// Loads a remote-PIN server and judges what it answers.
@main
struct PinLoadProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin-load",
        abstract: "Load a remote-PIN server with PIN checks, and judge every answer.",
        subcommands: []
    )
}
