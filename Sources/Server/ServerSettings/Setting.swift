/// One thing that an operator can set: its name, what it may be, what it is when nobody says, and why one would.
///
/// The declarations in ``SettingTable`` are the only place that knows a setting. Reading and checking, `--help`, the
/// generated configuration file and the documentation all come from them, so that they cannot disagree.
package struct Setting<Value: Sendable>: SettingDeclaration {
    /// Group and name, as in the file's two levels: `session.lifetime`.
    package let name: String
    /// What it may be.
    package let kind: SettingKind<Value>
    /// What it is when no source says; nil where the operator has to.
    package let standard: Value?
    /// What it does, in full sentences for an operator.
    package let text: String
    /// Whether its value may hold a secret; then nothing ever prints it.
    package let isSecret: Bool

    init(_ name: String, _ kind: SettingKind<Value>, standard: Value?, isSecret: Bool = false, _ text: String) {
        self.name = name
        self.kind = kind
        self.standard = standard
        self.isSecret = isSecret
        self.text = text
    }

    package var form: String { self.kind.form }
    package var allowed: String { self.kind.allowed }
    package var isList: Bool { self.kind.isList }
    package var standardText: String? { self.standard.map(self.kind.show) }
    package var standardValue: (any Sendable)? { self.standard }

    package func value(of raw: RawValue) -> (any Sendable)? { self.kind.read(raw) }

    package func show(_ value: any Sendable) -> String {
        guard let value = value as? Value else { preconditionFailure("\(self.name) holds a value of another type") }
        return self.kind.show(value)
    }
}

/// A ``Setting`` whatever the type of its value.
package protocol SettingDeclaration: Sendable {
    /// Group and name, as in the file's two levels: `session.lifetime`.
    var name: String { get }
    /// What kind of value it takes, in a word or two: `duration`.
    var form: String { get }
    /// The values that are taken: `1s … 24h`.
    var allowed: String { get }
    /// Whether it takes several values.
    var isList: Bool { get }
    /// Its default as one would write it; nil where the operator has to name a value.
    var standardText: String? { get }
    /// What it does, in full sentences for an operator.
    var text: String { get }
    /// Whether its value may hold a secret; then nothing ever prints it.
    var isSecret: Bool { get }
    /// Its default; nil where the operator has to name a value.
    var standardValue: (any Sendable)? { get }

    /// Reads what a source said; nil for what is not allowed.
    func value(of raw: RawValue) -> (any Sendable)?
    /// Writes a value of its own type as the file would hold it.
    func show(_ value: any Sendable) -> String
}

extension SettingDeclaration {
    /// The environment variable that sets it: `REMOTE_PIN_SESSION_LIFETIME`.
    package var environmentName: String {
        SettingTable.environmentPrefix
            + self.name.uppercased().map { $0 == "." || $0 == "-" ? "_" : String($0) }.joined()
    }

    /// The part before the dot, a section of the file.
    package var group: String { String(self.name.prefix { $0 != "." }) }
    /// The part behind the dot.
    package var key: String { String(self.name.drop { $0 != "." }.dropFirst()) }
}

/// What a source said, before anything is known of its meaning.
package struct RawValue: Sendable {
    /// One text, or those of a list.
    var texts: [String]
    /// Whether it was written as a list.
    var isList: Bool
    /// The folder that relative paths are relative to: the file's, or the one that the process was started in.
    var folder: String
}
