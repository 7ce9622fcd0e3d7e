internal import Yams

/// The form of a value in a configuration file.
///
/// It is used by the checker, the JSON schema and the manual, so they cannot get out of sync.
package indirect enum Shape: Sendable {
    /// No value, which means just the key or an empty value.
    case nothing
    case word(Word)
    /// Multiple values.
    ///
    /// If there is a limit, they must be a YAML list. Otherwise, a single value does not need brackets.
    case list(Shape, atMost: Int?)
    /// A mapping with declared keys, and optionally a rule for combinations of their values.
    case fields([Field], rule: FieldRule? = nil)
    /// A mapping whose keys are chosen by the author of the file.
    ///
    /// `keys` describes them.
    case map(keys: String, Shape)
    /// Exactly one of the declared keys with its value, or just the key if its value may be empty.
    ///
    /// `name` is what such an entry is called in messages, such as `step`.
    case entry(name: String, [Field])
    /// The first of several shapes that accepts the form of the node.
    case either([Shape])
    /// A shape that is defined once in the JSON schema, under the given name.
    ///
    /// It is evaluated lazily, so it can be recursive. `allowed` replaces the shape's own description.
    case named(String, allowed: String? = nil, @Sendable () -> Shape)

    /// A description of the accepted values, for messages and the manual.
    package var allowed: String {
        switch self {
        case .nothing: "no value"
        case .word(let word): word.allowed
        case .list(let shape, atMost: let limit?): "a list in brackets, at most \(limit) of: \(shape.allowed)"
        case .list(let shape, atMost: nil): "\(shape.allowed), or a list of these"
        case .fields(let fields, _): "a mapping with the keys \(fields.map(\.name).joined(separator: ", "))"
        case .map(let keys, let shape): "a mapping from \(keys) to \(shape.allowed)"
        case .entry(let name, _): "\("aeiou".contains(name.prefix(1)) ? "an" : "a") \(name)"
        case .either(let shapes): shapes.map(\.allowed).joined(separator: "; or ")
        case .named(_, let allowed, let shape): allowed ?? shape().allowed
        }
    }

    /// Returns whether a value of this shape can be written in the given form.
    func accepts(_ form: NodeForm) -> Bool {
        switch self {
        case .nothing: form == .empty
        case .word(let word):
            form == .word || form == .empty && word.acceptsEmpty || form == .keys && word.takesArgument
        case .list(let element, let limit): form == .list || limit == nil && element.accepts(form)
        case .fields, .map: form == .keys
        case .entry: form == .keys || form == .word
        case .either(let shapes): shapes.contains { $0.accepts(form) }
        case .named(_, _, let shape): shape().accepts(form)
        }
    }
}

/// A rule for a combination of keys; returns the offending key and a message, or nil if the rule is satisfied.
package typealias FieldRule = @Sendable (ConfigValue) -> (key: String, message: String)?

/// A declared key.
package struct Field: Sendable {
    package let name: String
    package let shape: Shape
    /// The purpose of the key, for the manual.
    package let text: String
    package let isRequired: Bool

    package init(_ name: String, _ shape: Shape, _ text: String, required isRequired: Bool = false) {
        self.name = name
        self.shape = shape
        self.text = text
        self.isRequired = isRequired
    }
}

/// A value that is written as a single text, such as a duration.
package struct Word: Sendable {
    /// One or two words for usage information, such as `duration`.
    package let form: String
    /// A description of the accepted values, such as `1s … 1d`.
    package let allowed: String
    /// The accepted names, for suggestions; empty if the value is not one of a few names.
    package let names: [String]
    /// The description of the accepted texts in the JSON schema.
    let schema: WordSchema
    /// Whether an empty value is read as an empty text.
    let acceptsEmpty: Bool
    /// Whether `{name: argument}` is read as `name:argument`.
    var takesArgument = false
    /// Returns whether a text may be secret, in which case it must not appear in messages and listings.
    var isSecret: @Sendable (String) -> Bool = { _ in false }
    /// Returns the canonical form of a text, or nil if the text is not accepted.
    let canonical: @Sendable (String) -> String?
}

/// The part of a JSON schema that describes a ``Word``.
package enum WordSchema: Sendable {
    case text
    case pattern(String)
    case number(minimum: Int64, maximum: Int64)
    case truth
    case names([String])
}

/// A configuration value that has been checked and is known to have the form required by its ``Shape``.
package struct ConfigValue: Equatable, Sendable {
    /// The line in the file, counting from 1, or nil if the value does not come from a file.
    ///
    /// For the value of a key, this is the key's line.
    package let line: Int?
    package let content: Content

    package indirect enum Content: Equatable, Sendable {
        case nothing
        /// A text in the canonical form for its kind, such as `true` for `yes`, or `1h` for `60m`.
        case word(String)
        case list([ConfigValue])
        case fields([String: ConfigValue])
    }

    package init(_ content: Content, line: Int? = nil) {
        self.content = content
        self.line = line
    }

    package static func word(_ text: String) -> ConfigValue { ConfigValue(.word(text)) }
    package static func list(_ values: [ConfigValue]) -> ConfigValue { ConfigValue(.list(values)) }

    package var text: String? { if case .word(let text) = self.content { text } else { nil } }
    package var number: Int? { self.text.flatMap { Int($0) } }
    package var truth: Bool? { self.text.map { $0 == "true" } }
    package var duration: Duration? { self.text.flatMap(DurationText.read) }
    package var list: [ConfigValue]? { if case .list(let list) = self.content { list } else { nil } }
    package var texts: [String]? { self.list?.compactMap(\.text) }
    package var fields: [String: ConfigValue]? { if case .fields(let fields) = self.content { fields } else { nil } }

    /// The value of a key, or nil if the key is missing.
    package subscript(_ key: String) -> ConfigValue? { self.fields?[key] }

    /// The value as single-line YAML, such as `[1m, 5m]`.
    ///
    /// Words are not quoted.
    package var flowText: String {
        switch self.content {
        case .nothing: ""
        case .word(let text): text
        case .list(let list): "[\(list.map(\.flowText).joined(separator: ", "))]"
        case .fields(let fields):
            "{\(fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.flowText)" }.joined(separator: ", "))}"
        }
    }

    /// Returns the text of a YAML file with the given keys and values.
    package static func yaml(_ fields: [(String, ConfigValue)]) throws -> String {
        try Yams.serialize(node: Node(fields.map { (Node($0.0), $0.1.node) }), sortKeys: false)
    }

    private var node: Node {
        switch self.content {
        case .nothing: Node("", Tag(.null))
        case .word(let text): Node(text)
        case .list(let list): Node(list.map(\.node), Tag(.implicit), .flow)
        case .fields(let fields): Node(fields.sorted { $0.key < $1.key }.map { (Node($0.key), $0.value.node) })
        }
    }
}
