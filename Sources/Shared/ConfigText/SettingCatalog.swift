internal import Yams

/// All settings of a program, in the order used in the manual.
package struct SettingCatalog: Sendable {
    /// The sections in the file, with a description of each; empty if the file does not have sections.
    package let sections: [(name: String, text: String)]
    package let settings: [any SettingDeclaration]
    /// The prefix of environment variables, or nil if settings cannot be set in the environment.
    package let environmentPrefix: String?
    /// Variables with the same prefix that belong to other programs.
    ///
    /// Names that end in `_` are themselves prefixes.
    private let foreignVariables: [String]

    package init(
        sections: [(name: String, text: String)] = [],
        _ settings: [any SettingDeclaration],
        environmentPrefix: String? = nil,
        foreignVariables: [String] = []
    ) {
        self.sections = sections
        self.settings = settings
        self.environmentPrefix = environmentPrefix
        self.foreignVariables = foreignVariables
    }

    /// The keys in a configuration file.
    var fields: [Field] {
        guard !self.sections.isEmpty else { return self.settings.map { Field($0.name, $0.shape, $0.text) } }
        return self.sections.map { section in
            let keys = self.settings.filter { $0.section == section.name }
            let fields = keys.map { Field($0.key, $0.shape, $0.text) }
            return Field(section.name, .either([.fields(fields), .nothing]), section.text)
        }
    }

    /// Returns the name of a setting's environment variable, such as `REMOTE_PIN_SESSION_LIFETIME`.
    package func variable(of setting: any SettingDeclaration) -> String {
        (self.environmentPrefix ?? "") + String(setting.name.uppercased().map { $0 == "." || $0 == "-" ? "_" : $0 })
    }

    func isVariable(_ name: String) -> Bool {
        guard let environmentPrefix, name.hasPrefix(environmentPrefix) else { return false }
        return !self.foreignVariables.contains { $0.hasSuffix("_") ? name.hasPrefix($0) : name == $0 }
    }
}

/// The sources of settings, before their values are checked.
///
/// Flags override the environment, which overrides the file.
package struct SettingsSources: Sendable {
    package var file: ConfigFile?
    package var environment: [String: String]
    package var flags: [(name: String, value: String)]
    /// The folder that paths in the environment and in flags are resolved against.
    package var currentFolder: String

    package init(
        file: ConfigFile?,
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

package struct ConfigFile: Sendable {
    /// The path, for use in problems.
    package var path: String
    /// The folder that paths in the file are resolved against.
    package var folder: String
    package var text: String

    package init(path: String, folder: String, text: String) {
        self.path = path
        self.folder = folder
        self.text = text
    }
}

/// A value for a setting from one of the sources, after it has been checked.
struct Assignment {
    let setting: any SettingDeclaration
    let value: ConfigValue
    let origin: SettingOrigin
    let folder: String
}

/// The checked values from all sources, with later ones overriding earlier ones, and any problems.
struct Assignments {
    private(set) var all: [Assignment] = []
    private(set) var problems: [ConfigProblem] = []
    /// Whether the file could not be parsed, which means that its settings are unknown.
    private(set) var isFileUnreadable = false
    private let catalog: SettingCatalog

    init(_ sources: SettingsSources, _ catalog: SettingCatalog) {
        self.catalog = catalog
        if let file = sources.file { self.read(file) }
        let variables = sources.environment.filter { catalog.isVariable($0.key) }
        for (name, value) in variables.sorted(by: { $0.key < $1.key }) {
            let setting = catalog.settings.first { catalog.variable(of: $0) == name }
            let known = catalog.settings.map(catalog.variable(of:))
            self.read(value, of: setting, .environment(name), "variable", name, known, sources.currentFolder)
        }
        var seen: Set<String> = []
        for (name, value) in sources.flags {
            let setting = catalog.settings.first { $0.name == name }
            if setting != nil, !seen.insert(name).inserted {
                self.problems.append(ConfigProblem(source: "--\(name)", message: "the flag is given twice"))
            }
            let known = catalog.settings.map(\.name)
            self.read(value, of: setting, .flag(name), "setting", name, known, sources.currentFolder)
        }
    }

    private mutating func read(_ file: ConfigFile) {
        var checker = Checker(source: file.path)
        let root = checker.read(file.text, as: .fields(self.catalog.fields))
        self.problems += checker.problems
        self.isFileUnreadable = root == nil
        for setting in self.catalog.settings {
            let value = self.catalog.sections.isEmpty ? root?[setting.name] : root?[setting.section]?[setting.key]
            guard let value else { continue }
            let origin = SettingOrigin.file(file.path, line: value.line ?? 0)
            self.all.append(Assignment(setting: setting, value: value, origin: origin, folder: file.folder))
        }
    }

    private mutating func read(
        _ text: String,
        of setting: (any SettingDeclaration)?,
        _ origin: SettingOrigin,
        _ what: String,
        _ name: String,
        _ known: [String],
        _ folder: String
    ) {
        guard let setting else {
            let message = "unknown \(what) `\(name)`\(NearestName.hint(for: name, among: known))"
            self.problems.append(ConfigProblem(source: origin.description, message: message))
            return
        }
        var checker = Checker(source: origin.description)
        let node = Self.node(text, setting.shape)
        let value = checker.read(node, as: setting.shape, key: setting.name, line: nil)
        self.problems += checker.problems
        guard let value, checker.problems.isEmpty else { return }
        self.all.append(Assignment(setting: setting, value: value, origin: origin, folder: folder))
    }

    /// Returns the text of a variable or flag as YAML.
    ///
    /// Lists are separated by commas, and `[]` is an empty list.
    private static func node(_ text: String, _ shape: Shape) -> Node {
        // Do not treat an empty text as an empty list, because it might come from an undefined variable such as
        // `${BLOCKS}`. An empty list of blocks would remove all waiting times.
        guard case .list = shape, text.contains(where: { $0 != " " }) else {
            return Node(text, Tag(.implicit), .doubleQuoted)
        }
        let inner = text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text[...]
        let texts = inner.split(separator: ",").map { part in
            String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        return Node(texts.map { Node($0, Tag(.implicit), .doubleQuoted) })
    }
}

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

    /// Returns the settings for `--help`, in lines that a terminal of 80 columns does not break.
    package func help(where isIncluded: (any SettingDeclaration) -> Bool) -> String {
        self.settings.filter(isIncluded).flatMap { setting in
            let standard = setting.standardText.map { "default: \($0)" } ?? "must be set"
            let text = "\(setting.text) (\(setting.allowed); \(standard))"
            return ["  --\(setting.name) <\(setting.form)>"]
                + TextLayout.wrapped(text.split(separator: " "), width: 71).map { "        \($0)" }
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
            self.problems.append(ConfigProblem(source: sources.file?.path ?? "", key: setting.name, message: message))
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
    package mutating func reject(_ settings: [any SettingDeclaration], if isContradiction: Bool, _ message: String) {
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
