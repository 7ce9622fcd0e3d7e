internal import ArgumentParser
internal import AttestationVerifier
internal import PostgreSQLStore
internal import ServerSettings
internal import HostSystem

/// Lists all settings.
struct SettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "List every setting with its range, default and meaning."
    )

    @Flag(help: "Print a table in Markdown.")
    var markdown = false

    func run() async throws {
        StandardStreams.writeOutput(self.markdown ? ConfigurationFile.markdown() : ConfigurationFile.help() + "\n")
    }
}

/// Reports every problem in a configuration, or its effective values if it has no problems.
struct CheckConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract:
            "Check a configuration and all files that it names; show each value with its source, and the accepted "
            + "devices.",
        discussion: """
            Reports all problems at once and ends with status 78. Warns of a certificate that wallets reject, or soon \
            will. Does not touch an embedded store; connects once to a PostgreSQL database, checks its \
            version, rights, schema, durability and policy, and says what a failover would keep. `config show` \
            shows only the settings, without opening the files that they name, and also shows them if some are wrong.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await ending {
            let loaded = try self.options.settings()
            let files = try await ServerFiles(loaded)
            var page = Page()
            page.settings(loaded.settings.rows)
            StandardStreams.writeOutput(page.text)
            // Use the system clock: the age of a status list does not depend on a lab's clock.
            let sentences = files.attestations.sentences(at: SystemClock().now())
            StandardStreams.writeOutput("\n" + sentences.map { "\($0)\n" }.joined() + "\n")
            if let database = files.database { try await Self.check(database, for: files.policy) }
            let warnings = files.certificateProblems + FileRights.foreignFiles(loaded.settings)
            StandardStreams.writeOutput(warnings.map { "warning: \($0)\n" }.joined())
            StandardStreams.writeOutput("the configuration is good\(warnings.isEmpty ? "" : ", with warnings")\n")
        }
    }

    /// Rejects a database that would make the server fail to start.
    ///
    /// Reports what a failover would preserve.
    private static func check(_ database: DatabaseSettings, for policy: [String: String]) async throws {
        let report = try await database.report()
        try report.requireStore(in: database, for: policy)
        let head = "database: PostgreSQL \(report.version) at \(report.address), schema \(report.schemaVersion ?? 0)\n"
        let sentences = report.sentences(for: database).map { "\($0)\n" }.joined()
        StandardStreams.writeOutput("\n\(head)\(sentences)")
    }
}
