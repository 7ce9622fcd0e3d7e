internal import Yams

/// All settings of a program, in the order used in the manual.
package struct SettingCatalog: Sendable {
    /// The sections in the file, with a description of each.
    ///
    /// Empty if the file does not have sections.
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

/// The text of a configuration file.
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
