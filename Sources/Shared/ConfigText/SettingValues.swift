/// The values of all settings in a catalog, and where they come from.
package struct SettingValues: Sendable {
    private let catalog: SettingCatalog
    private var values: [String: any Sendable] = [:]
    private var origins: [String: SettingOrigin] = [:]
    /// The settings that have an invalid value in one of the sources.
    private var rejected: Set<String> = []
    /// Whether the file could not be parsed, which means that some settings may be missing.
    private let isIncomplete: Bool
    /// All problems so far.
    ///
    /// A setting that has a problem must not be read.
    package private(set) var problems: [ConfigProblem]

    /// Merges the sources.
    ///
    /// - Parameter needs: Returns whether a setting must have a value.
    package init(
        _ sources: SettingsSources,
        _ catalog: SettingCatalog,
        needs: (any SettingDeclaration) -> Bool = { _ in true }
    ) {
        self.catalog = catalog
        let assignments = Assignments(sources, catalog)
        self.problems = assignments.problems
        self.isIncomplete = assignments.isFileUnreadable
        let names = Set(catalog.settings.map(\.name))
        self.rejected = Set(assignments.problems.map(\.key)).intersection(names)
        for setting in catalog.settings {
            self.values[setting.name] = setting.standardValue(folder: sources.file?.folder ?? sources.currentFolder)
        }
        for assignment in assignments.all {
            let value = assignment.setting.value(assignment.value, folder: assignment.folder)
            self.values[assignment.setting.name] = value
            self.origins[assignment.setting.name] = assignment.origin
        }
        guard !self.isIncomplete else { return }
        for setting in catalog.settings where self.values[setting.name] == nil && needs(setting) {
            guard !self.rejected.contains(setting.name) else { continue }
            let message = "must be set: \(setting.allowed)"
            self.problems.append(
                ConfigProblem(source: sources.file?.path ?? "", key: setting.name, message: message)
            )
        }
    }

    /// Returns the value of a setting.
    ///
    /// - Precondition: The setting has no problems.
    package subscript<Value>(_ setting: Setting<Value>) -> Value {
        guard let value = self.values[setting.name] as? Value else {
            preconditionFailure("\(setting.name) is in the catalog, so it has a value")
        }
        return value
    }

    package func origin(of name: String) -> SettingOrigin { self.origins[name] ?? .standard }

    /// Returns whether a setting has been set by any source, even to an invalid value.
    package func isSet(_ setting: any SettingDeclaration) -> Bool {
        self.origins[setting.name] != nil || self.rejected.contains(setting.name)
    }

    /// Reports a problem with the first of several settings that are valid on their own, but contradict each other.
    ///
    /// Does nothing if one of them has an invalid value, because that has already been reported.
    package mutating func reject(
        _ settings: [any SettingDeclaration],
        if isContradiction: Bool,
        _ message: String
    ) {
        guard isContradiction, !self.isIncomplete, self.rejected.isDisjoint(with: settings.map(\.name)) else { return }
        self.problems.append(self.origin(of: settings[0].name).problem(settings[0].name, message))
    }

    /// Returns the settings whose values have changed since an earlier version.
    ///
    /// - Precondition: Neither version has problems.
    package func changes(since old: SettingValues) -> [any SettingDeclaration] {
        self.catalog.settings.filter { setting in
            guard let new = self.values[setting.name], let old = old.values[setting.name] else {
                preconditionFailure("\(setting.name) is in the catalog, so it has a value")
            }
            return !setting.areEqual(new, old)
        }
    }

    /// All settings for listings, in catalog order.
    package var rows: [SettingRow] {
        self.catalog.settings.map { setting in
            let isRejected = self.rejected.contains(setting.name)
            guard !isRejected, let value = self.values[setting.name] else { return SettingRow(name: setting.name) }
            let text = setting.publicText(of: value)
            return SettingRow(name: setting.name, value: text, origin: self.origin(of: setting.name))
        }
    }
}
