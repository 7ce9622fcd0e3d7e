/// One setting as an operator may see it.
public struct SettingRow: Hashable, Sendable {
    /// Group and name: `session.lifetime`.
    public var name: String
    /// As the file would hold it, or ``hidden`` where it may be a secret; nil where no source gave a good one.
    public var value: String?
    /// Where the value comes from; nil where there is none.
    public var origin: SettingOrigin?

    /// What stands in the place of a value that nobody may read.
    public static let hidden = "(not shown)"
}

/// Where settings may come from, as they were found and before anything is known of them.
public struct SettingsSources: Sendable {
    var file: ServerSettings.File?
    var environment: [String: String]
    var flags: [(name: String, value: String)]
    var currentFolder: String

    public init(
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
public struct SettingsReport: Sendable {
    /// Every setting, in the table's order.
    public let rows: [SettingRow]
    /// Everything that is wrong; a server starts only where there is nothing.
    public let problems: [SettingsProblem]
    /// The settings; nil where something is wrong.
    public let settings: ServerSettings?

    /// Joins the sources.
    public init(reading sources: SettingsSources) {
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
