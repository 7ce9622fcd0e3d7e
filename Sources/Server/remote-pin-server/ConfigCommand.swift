internal import ArgumentParser
internal import ConfigText
internal import ServerSettings

/// Commands that inspect a configuration.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Inspect a server's configuration.",
        subcommands: [ConfigShow.self]
    )
}

/// Shows each effective setting and its source.
struct ConfigShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show each setting with its value and source; report every error.",
        discussion: """
            The source is `default`, FILE:LINE, the environment variable, or the flag. Values that may be secret are \
            not shown. Files that settings name are not opened; `check-config` opens them.

            If a setting is wrong, the others are still shown, every error is reported on standard error, and the exit \
            status is 78.

              remote-pin-server config show /srv/remote-pin
              remote-pin-server config show --changed --config /etc/remote-pin/server.yaml
              remote-pin-server config show --json --lab.folder none /tmp/lab
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Leave out settings with their default value.")
    var changed = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await ending {
            let report = try self.options.report()
            let rows = report.rows.filter { !self.changed || $0.origin != .standard }
            let json: JSONObject = [
                "settings": rows.map(\.json),
                "problems": report.problems.map { ["place": $0.place, "message": $0.text] },
            ]
            self.output.print(json) { $0.settings(rows) }
            guard report.problems.isEmpty else {
                throw StartFailure(
                    .configuration,
                    "the configuration is not used:\n\(ConfigError(problems: report.problems))"
                )
            }
        }
    }
}

extension SettingRow {
    fileprivate var json: JSONObject {
        let (file, line, sourceName): (String?, Int?, String?) =
            switch self.origin {
            case .file(let path, let line): (path, line, nil)
            case .environment(let name): (nil, nil, name)
            case .flag(let name): (nil, nil, "--\(name)")
            case .standard, nil: (nil, nil, nil)
            }
        return [
            "name": self.name,
            // Absent if no source has a valid one.
            "value": self.value,
            "source": self.origin?.kind,
            "file": file,
            "line": line,
            // The name of the variable or flag.
            "sourceName": sourceName,
        ]
    }
}

extension SettingOrigin {
    /// The kind of source as a single word, for programs.
    fileprivate var kind: String {
        switch self {
        case .standard: "default"
        case .file: "file"
        case .environment: "environment"
        case .flag: "flag"
        }
    }
}

extension Page {
    /// Adds a table of settings with their values and sources.
    ///
    /// All commands share this format.
    mutating func settings(_ rows: [SettingRow]) {
        self.table(
            ["SETTING", "VALUE", "FROM"],
            rows.map { row in
                [row.name, row.value ?? "wrong or missing", row.origin.map { "\($0)" } ?? ""]
            }
        )
    }
}
