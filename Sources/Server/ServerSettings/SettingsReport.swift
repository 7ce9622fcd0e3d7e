package import ConfigText

/// The result of reading the sources, with or without problems.
///
/// An operator who corrects a configuration sees the valid values together with all problems.
package struct SettingsReport: Sendable {
    /// Every setting, in the table's order.
    package let rows: [SettingRow]
    /// All problems; a server starts only if the list is empty.
    package let problems: [ConfigProblem]
    /// The settings; nil if there are problems.
    package let settings: ServerSettings?

    /// Merges the sources.
    package init(reading sources: SettingsSources) {
        let settings = ServerSettings(sources)
        self.rows = settings.rows
        self.problems = settings.problems
        self.settings = settings.problems.isEmpty ? settings : nil
    }
}
