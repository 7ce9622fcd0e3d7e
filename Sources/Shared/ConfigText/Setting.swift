/// A declared setting: its name, its kind, its default and its purpose.
///
/// The catalog of declarations is the only place where a program's settings are described. It is used for reading,
/// checking, `--help`, the generated configuration file and the manual, so they cannot get out of sync.
package struct Setting<Value: Sendable>: SettingDeclaration {
    package let name: String
    package let kind: Kind<Value>
    package let standard: Value?
    package let isLive: Bool
    package let text: String

    package init(
        _ name: String,
        _ kind: Kind<Value>,
        standard: Value?,
        isSecret: Bool = false,
        isLive: Bool = false,
        _ text: String
    ) {
        self.name = name
        self.kind = isSecret ? kind.secret : kind
        self.standard = standard
        self.isLive = isLive
        self.text = isLive ? "\(text) A reload applies a change." : text
    }

    /// A setting that has no value by default.
    package init<Wrapped>(
        optional name: String,
        _ kind: Kind<Wrapped>,
        isLive: Bool = false,
        _ text: String
    ) where Value == Wrapped? {
        self.init(name, .optional(kind), standard: .some(nil), isLive: isLive, text)
    }
}

/// A ``Setting`` of any value type.
package protocol SettingDeclaration<Value>: Sendable {
    associatedtype Value: Sendable
    /// The name; in a file with sections, section and key: `session.lifetime`.
    var name: String { get }
    var kind: Kind<Value> { get }
    /// The default; nil if the user must set a value.
    var standard: Value? { get }
    /// Whether a running program applies a change when it reads its configuration again; other changes need a restart.
    var isLive: Bool { get }
    /// The purpose, in full sentences for the manual.
    var text: String { get }
}

extension SettingDeclaration {
    /// The section of the file that holds it; the whole name in a file without sections.
    package var section: String { String(self.name.prefix { $0 != "." }) }
    /// The key in that section.
    package var key: String { String(self.name.split(separator: ".", maxSplits: 1).last ?? "") }
    package var shape: Shape { self.kind.shape }
    /// The kind of value in one or two words: `duration`.
    package var form: String { self.kind.shape.form }
    package var allowed: String { self.kind.allowed }
    /// The default as a file would hold it; nil if the user must set a value.
    package var standardText: String? { self.standard.map { self.kind.write($0).flowText } }
    package var isSecret: Bool { self.kind.shape.isSecret }
    /// The default; a relative path is relative to the folder.
    func standardValue(folder: String) -> (any Sendable)? {
        self.standard.flatMap { self.kind.read(self.kind.write($0), folder) }
    }

    func value(_ value: ConfigValue, folder: String) -> (any Sendable)? { self.kind.read(value, folder) }

    /// Returns whether two values of the setting are the same.
    func areEqual(_ one: any Sendable, _ other: any Sendable) -> Bool {
        guard let one = one as? Value, let other = other as? Value else {
            preconditionFailure("\(self.name) holds a value of another type")
        }
        return self.kind.write(one) == self.kind.write(other)
    }

    /// The text of a value for listings; secret values are hidden unless they are the default.
    func publicText(of value: any Sendable) -> String {
        guard let value = value as? Value else { preconditionFailure("\(self.name) holds a value of another type") }
        let text = self.kind.write(value).flowText
        return self.isSecret && text != self.standardText ? SettingRow.hidden : text
    }
}

extension Shape {
    /// The kind of value in a few words, for usage lines.
    fileprivate var form: String {
        switch self {
        case .word(let word): word.form
        case .list(let element, _): "list of \(element.form)"
        case .nothing, .fields, .map, .entry, .either, .named: self.allowed
        }
    }
}

/// The source of a value; a later case overrides an earlier one.
package enum SettingOrigin: Hashable, Sendable, CustomStringConvertible {
    case standard
    case file(String, line: Int)
    case environment(String)
    case flag(String)

    package var description: String {
        switch self {
        case .standard: "default"
        case .file(let path, let line): "\(path):\(line)"
        case .environment(let name): name
        case .flag(let name): "--\(name)"
        }
    }

    /// A problem with a value from this source.
    func problem(_ key: String, _ message: String) -> ConfigProblem {
        switch self {
        case .standard: ConfigProblem(source: "", key: key, message: message)
        case .file(let path, let line): ConfigProblem(source: path, line: line, key: key, message: message)
        case .environment, .flag: ConfigProblem(source: self.description, key: key, message: message)
        }
    }
}

/// A setting with its value, for listings.
package struct SettingRow: Hashable, Sendable {
    package var name: String
    /// The value as a file would hold it, or ``hidden``; nil if the value is missing or wrong.
    package var value: String?
    /// Nil if the value is missing or wrong.
    package var origin: SettingOrigin?

    /// Shown instead of a value that may be a secret.
    package static let hidden = "(not shown)"
}
