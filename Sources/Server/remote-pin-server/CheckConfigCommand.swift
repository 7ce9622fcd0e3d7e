internal import ArgumentParser
internal import AttestationVerifier
internal import ServerSettings
internal import HostSystem

/// Lists what can be set.
struct SettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "List every setting with its range, its default and what it does."
    )

    @Flag(help: "As a table in Markdown.")
    var markdown = false

    func run() async throws {
        StandardStreams.writeOutput(self.markdown ? ConfigurationFile.markdown() : ConfigurationFile.help() + "\n")
    }
}

/// Says what is wrong with a configuration, or what it amounts to.
struct CheckConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract:
            "Check a configuration with all files that it names; show each value with its origin, and what would be accepted.",
        discussion: """
            Names everything that is wrong at once and ends with status 78. The store is not touched. `config show` \
            shows the settings alone, without the files that they name, and also where some are wrong.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await ending {
            let loaded = try self.options.settings()
            let files = try ServerFiles(loaded)
            var page = Page()
            page.settings(loaded.settings.rows)
            StandardStreams.writeOutput(page.text)
            // A lab's clock has nothing to do with when its list was written.
            let sentences = files.attestations.sentences(at: SystemClock().now())
            StandardStreams.writeOutput("\n" + sentences.map { "\($0)\n" }.joined() + "\n")
            StandardStreams.writeOutput("the configuration is good\n")
        }
    }
}
