/// Writes the table for people: as a configuration file, as help and as a page of the manual.
package enum ConfigurationFile {
    /// A file that explains every setting: those in `values` are set, the others stand there as comments with their
    /// default.
    ///
    /// - Precondition: `values` are YAML and names of the table.
    package static func text(setting values: [String: String] = [:], heading: String) -> String {
        var lines = Self.comment(heading, indentation: "")
        lines.append("#")
        lines += Self.comment(
            """
            Environment variables (\(SettingTable.environmentPrefix)PIN_ROUNDS for pin.rounds) outrank this file, flags \
            (--pin.rounds 4) outrank both. `remote-pin-server check-config` says what is wrong and shows where each \
            value comes from. Durations are written as 250ms, 61s, 5m, 1h, 2d; paths are relative to this file's folder.
            """,
            indentation: ""
        )
        for group in SettingTable.groups {
            lines.append("")
            lines += Self.comment(group.text, indentation: "")
            lines.append("\(group.name):")
            for declaration in SettingTable.all where declaration.group == group.name {
                lines += Self.comment("\(declaration.text) (\(declaration.allowed))", indentation: "  ")
                if let value = values[declaration.name] {
                    lines.append("  \(declaration.key): \(value)")
                } else {
                    let standard = declaration.standardText ?? "     # must be set"
                    lines.append("  #\(declaration.key): \(standard)")
                }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The settings as `--help` lists them; all of them, or those that a program uses.
    package static func help(where isUsed: (any SettingDeclaration) -> Bool = { _ in true }) -> String {
        var lines: [String] = []
        for declaration in SettingTable.all where isUsed(declaration) {
            lines.append("  --\(declaration.name) <\(declaration.form)>")
            let standard = declaration.standardText.map { "default: \($0)" } ?? "must be set"
            lines += Self.wrapped("\(declaration.text) (\(declaration.allowed); \(standard))", width: 92)
                .map { "        \($0)" }
        }
        return lines.joined(separator: "\n")
    }

    /// The settings as a table in Markdown.
    package static func markdown() -> String {
        var lines = [
            "# Settings of remote-pin-server",
            "",
            "Made by `remote-pin-server settings --markdown`; a test compares the two. A setting `pin.rounds` stands in the file's",
            "section `pin` as `rounds`, in the environment it is `REMOTE_PIN_PIN_ROUNDS`, as a flag `--pin.rounds`. Flags outrank",
            "the environment, the environment the file, the file the defaults.",
            "",
        ]
        lines += ["| setting | takes | default | what it does |", "| --- | --- | --- | --- |"]
        for declaration in SettingTable.all {
            let standard = declaration.standardText.map { "`\($0)`" } ?? "must be set"
            lines.append("| `\(declaration.name)` | \(declaration.allowed) | \(standard) | \(declaration.text) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func comment(_ text: String, indentation: String) -> [String] {
        Self.wrapped(text, width: 110 - indentation.utf8.count).map { "\(indentation)# \($0)" }
    }

    private static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + word.count + 1 > width {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        return line.isEmpty ? lines : lines + [line]
    }
}
