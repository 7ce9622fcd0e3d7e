/// The declaration of a setting, with its name, kind, default and purpose.
///
/// A program's settings are only described in its catalog of declarations. The catalog is used for reading and checking
/// settings as well as for `--help`, the generated configuration file and the manual, so they cannot get out of sync.
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

    /// Creates a setting that does not have a value by default.
    package init<Wrapped>(
        optional name: String,
        _ kind: Kind<Wrapped>,
        isLive: Bool = false,
        _ text: String
    ) where Value == Wrapped? {
        self.init(name, .optional(kind), standard: .some(nil), isLive: isLive, text)
    }
}

/// A ``Setting`` with any type of value.
package protocol SettingDeclaration<Value>: Sendable {
    associatedtype Value: Sendable
    /// The name, which includes the section if the file has sections, such as `session.lifetime`.
    var name: String { get }
    var kind: Kind<Value> { get }
    /// The default value, or nil if the user must set the value.
    var standard: Value? { get }
    /// Whether a running program applies changes when it reloads its configuration.
    ///
    /// Other changes require a restart.
    var isLive: Bool { get }
    /// The purpose of the setting, in full sentences for the manual.
    var text: String { get }
}

extension SettingDeclaration {
    /// The section that contains the setting, or the whole name if the file does not have sections.
    package var section: String { String(self.name.prefix { $0 != "." }) }
    /// The key within the section.
    package var key: String { String(self.name.split(separator: ".", maxSplits: 1).last ?? "") }
    package var shape: Shape { self.kind.shape }
    /// The kind of value in one or two words, such as `duration`.
    package var form: String { self.kind.shape.form }
    package var allowed: String { self.kind.allowed }
    /// The default value as written in a file, or nil if the user must set the value.
    package var standardText: String? { self.standard.map { self.kind.write($0).flowText } }
    /// Returns the default value.
    ///
    /// A relative path is resolved against the folder.
    func standardValue(folder: String) -> (any Sendable)? {
        self.standard.flatMap { self.kind.read(self.kind.write($0), folder) }
    }

    func value(_ value: ConfigValue, folder: String) -> (any Sendable)? { self.kind.read(value, folder) }

    func areEqual(_ one: any Sendable, _ other: any Sendable) -> Bool {
        guard let one = one as? Value, let other = other as? Value else {
            preconditionFailure("\(self.name) holds a value of another type")
        }
        return self.kind.write(one) == self.kind.write(other)
    }

    /// Returns the text of a value for listings.
    ///
    /// Values that may be secret are hidden unless they are the default.
    func publicText(of value: any Sendable) -> String {
        guard let value = value as? Value else { preconditionFailure("\(self.name) holds a value of another type") }
        let text = self.kind.write(value).flowText
        return self.kind.shape.hides(text) && text != self.standardText ? SettingRow.hidden : text
    }
}

extension Shape {
    /// The kind of value in a few words, for usage information.
    fileprivate var form: String {
        switch self {
        case .word(let word): word.form
        case .list(let element, _): "list of \(element.form)"
        case .nothing, .fields, .map, .entry, .either, .named: self.allowed
        }
    }
}

/// The source of a value.
///
/// Later cases override earlier ones.
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

    /// Creates a problem with a value from this source.
    func problem(_ key: String, _ message: String) -> ConfigProblem {
        switch self {
        case .standard: ConfigProblem(source: "", key: key, message: message)
        case .file(let path, let line): ConfigProblem(source: path, line: line, key: key, message: message)
        case .environment, .flag: ConfigProblem(source: self.description, key: key, message: message)
        }
    }
}

/// A setting and its value, for listings.
package struct SettingRow: Hashable, Sendable {
    package var name: String
    /// The value as written in a file, or ``hidden``, or nil if it is missing or invalid.
    package var value: String?
    /// Nil if the value is missing or invalid.
    package var origin: SettingOrigin?

    /// Displayed in place of a value that may be secret.
    package static let hidden = "(not shown)"
}
