extension SettingCatalog {
    /// Returns a configuration file that explains every setting.
    ///
    /// The settings in `values` are set. All others are commented out, with their defaults.
    ///
    /// - Precondition: The values are valid YAML, and their names are in the catalog.
    package func configurationFile(setting values: [String: String], heading: [String]) -> String {
        var lines = heading.flatMap { $0.isEmpty ? ["#"] : Self.comment($0, indentation: "") }
        for section in self.sections {
            lines.append("")
            lines += Self.comment(section.text, indentation: "")
            lines.append("\(section.name):")
            for setting in self.settings where setting.section == section.name {
                lines += Self.comment("\(setting.text) (\(setting.allowed))", indentation: "  ")
                if let value = values[setting.name] {
                    lines.append("  \(setting.key): \(value)")
                } else {
                    lines.append("  #\(setting.key): \(setting.standardText ?? "     # must be set")")
                }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the settings as listed by `--help`.
    package func help(where isIncluded: (any SettingDeclaration) -> Bool) -> String {
        self.settings.filter(isIncluded).flatMap { setting in
            let standard = setting.standardText.map { "default: \($0)" } ?? "must be set"
            let text = "\(setting.text) (\(setting.allowed); \(standard))"
            return ["  --\(setting.name) <\(setting.form)>"]
                + TextLayout.wrapped(text.split(separator: " "), width: 92).map { "        \($0)" }
        }.joined(separator: "\n")
    }

    /// The settings as a Markdown table.
    package var markdown: String {
        TextLayout.markdown(
            ["setting", "takes", "default", "description"],
            self.settings.map { setting in
                let standard = setting.standardText.map { "`\($0)`" } ?? "must be set"
                return ["`\(setting.name)`", setting.allowed, standard, setting.text]
            }
        )
    }

    private static func comment(_ text: String, indentation: String) -> [String] {
        TextLayout.wrapped(text.split(separator: " "), width: 110 - indentation.utf8.count)
            .map { "\(indentation)# \($0)" }
    }
}
