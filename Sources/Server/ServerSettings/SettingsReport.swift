/// One setting as an operator may see it.
package struct SettingRow: Hashable, Sendable {
    /// Group and name: `session.lifetime`.
    package var name: String
    /// As the file would hold it, or ``hidden`` where it may be a secret; nil where no source gave a good one.
    package var value: String?
    /// Where the value comes from; nil where there is none.
    package var origin: SettingOrigin?

    /// What stands in the place of a value that nobody may read.
    package static let hidden = "(not shown)"
}

/// Where settings may come from, as they were found and before anything is known of them.
package struct SettingsSources: Sendable {
    var file: ServerSettings.File?
    var environment: [String: String]
    var flags: [(name: String, value: String)]
    var currentFolder: String

    package init(
        file: ServerSettings.File?,
        environment: [String: String] = [:],
        flags: [(name: String, value: String)] = [],
        currentFolder: String
    ) {
        self.file = file
        self.environment = environment
        self.flags = flags
        self.currentFolder = currentFolder
    }
}

/// What the sources amount to, whether they can be used or not.
///
/// An operator who mends a configuration wants to see what holds already beside everything that is wrong.
package struct SettingsReport: Sendable {
    /// Every setting, in the table's order.
    package let rows: [SettingRow]
    /// Everything that is wrong; a server starts only where there is nothing.
    package let problems: [SettingsProblem]
    /// The settings; nil where something is wrong.
    package let settings: ServerSettings?

    /// Joins the sources.
    package init(reading sources: SettingsSources) {
        var problems: [SettingsProblem] = []
        let settings = ServerSettings(reading: sources, problems: &problems)
        self.rows = settings.rows
        self.problems = problems
        self.settings = problems.isEmpty ? settings : nil
    }
}

extension SettingDeclaration {
    /// A value of its own type for people; none of a secret.
    func publicText(of value: any Sendable) -> String {
        // That nothing is set is no secret, and worth knowing.
        let text = self.show(value)
        return self.isSecret && text != self.standardText ? SettingRow.hidden : text
    }
}
