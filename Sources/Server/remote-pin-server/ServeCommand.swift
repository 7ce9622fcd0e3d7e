internal import ArgumentParser
internal import HostSystem
internal import ServerSettings

/// Serves wallets until stopped by a signal.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve wallets until SIGTERM or SIGINT; reload files on SIGHUP.",
        discussion: """
            Writes one line that begins with `ready` to standard output when wallets can connect. The file overrides \
            defaults, the environment overrides the file, and flags override all.

            Every setting, as a flag. In the file, the part before the dot is the section; in the environment, \
            --pin.rounds is REMOTE_PIN_PIN_ROUNDS.

            \(ConfigurationFile.help())
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Serve a store that `restore --drill` placed, without hooks, witness and listeners for other machines.")
    var drill = false

    @Flag(help: "Stop when standard input ends; for a parent process that may be killed.")
    var followInput = false

    func run() async throws {
        // A service must not wait until something reads its output.
        StandardStreams.queueAll()
        if self.followInput { ProcessEnd.followsInput() }
        try await ending {
            try await RunningServer.run(
                try self.options.settings(with: self.drill ? Drill.settings : []),
                isDrill: self.drill
            )
        }
    }
}
