package import ConfigText

/// The result of reading the settings, with any problems found.
///
/// It contains the valid values even if there are problems, so that an operator can see both.
package struct SettingsReport: Sendable {
    /// All settings, in table order.
    package let rows: [SettingRow]
    /// All problems found.
    ///
    /// A server starts only if there are none.
    package let problems: [ConfigProblem]
    /// The settings, or nil if there are problems.
    package let settings: ServerSettings?

    /// Merges the sources.
    package init(reading sources: SettingsSources) {
        let settings = ServerSettings(sources)
        self.rows = settings.rows
        self.problems = settings.problems
        self.settings = settings.problems.isEmpty ? settings : nil
    }
}
