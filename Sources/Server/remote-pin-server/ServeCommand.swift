internal import ArgumentParser
internal import HostSystem
internal import ServerSettings

/// Serves wallets until it is told to stop.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve wallets until SIGTERM or SIGINT; read the certificate again on SIGHUP.",
        discussion: """
            Writes one line that begins with `ready` to standard output once wallets can connect. Defaults are outranked \
            by the file, the file by the environment, that by flags.

            Every setting, as a flag (in the file the part before the dot is the section; in the environment \
            --pin.rounds is REMOTE_PIN_PIN_ROUNDS):

            \(ConfigurationFile.help())
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Stop once standard input ends: for a program that starts this one and may be killed.")
    var followInput = false

    func run() async throws {
        if self.followInput { ProcessEnd.followsInput() }
        try await ending {
            try await RunningServer.run(try self.options.settings())
        }
    }
}
