/// The form of a value in a configuration file.
///
/// It is used by the checker, the JSON schema and the manual, so they cannot get out of sync.
package indirect enum Shape: Sendable {
    /// No value: the key alone, or an empty value.
    case nothing
    case word(Word)
    /// Several values. With a limit, they must be a YAML list. Without one, a single value does not need brackets.
    case list(Shape, atMost: Int?)
    /// Declared keys, and a rule for the combination of their values.
    case fields([Field], rule: FieldRule? = nil)
    /// Keys chosen by the author, as described by `keys`.
    case map(keys: String, Shape)
    /// Exactly one of the declared keys with its value, or the key alone if its value may be empty.
    ///
    /// `name` is the word for such an entry in messages: `step`.
    case entry(name: String, [Field])
    /// The first shape that accepts the form of the node: empty, word, list or keys.
    case either([Shape])
    /// A shape that is defined once in the JSON schema, under this name; it is evaluated lazily, so it can be
    /// recursive.
    ///
    /// `allowed` replaces the shape's own description.
    case named(String, allowed: String? = nil, @Sendable () -> Shape)

    /// The accepted values, for messages and the manual.
    package var allowed: String {
        switch self {
        case .nothing: "no value"
        case .word(let word): word.allowed
        case .list(let shape, atMost: let limit?): "a list in brackets, at most \(limit) of: \(shape.allowed)"
        case .list(let shape, atMost: nil): "\(shape.allowed), or a list of these"
        case .fields(let fields, _): "a mapping with the keys \(fields.map(\.name).joined(separator: ", "))"
        case .map(let keys, let shape): "a mapping from \(keys) to \(shape.allowed)"
        case .entry(let name, _): "a \(name)"
        case .either(let shapes): shapes.map(\.allowed).joined(separator: "; or ")
        case .named(_, let allowed, let shape): allowed ?? shape().allowed
        }
    }

    /// The forms in which a value of this shape can be written.
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

/// A rule for the values of several keys: returns the key at fault and the message, or nil if the rule is met.
package typealias FieldRule = @Sendable (ConfigValue) -> (key: String, message: String)?

/// A declared key.
package struct Field: Sendable {
    package let name: String
    package let shape: Shape
    /// The key's purpose, for the manual.
    package let text: String
    package let isRequired: Bool

    package init(_ name: String, _ shape: Shape, _ text: String, required isRequired: Bool = false) {
        self.name = name
        self.shape = shape
        self.text = text
        self.isRequired = isRequired
    }
}

/// A value written as one text, such as a duration.
package struct Word: Sendable {
    /// One or two words for usage lines: `duration`.
    package let form: String
    /// The accepted values: `1s … 1d`.
    package let allowed: String
    /// The accepted names, for hints; empty if the value is not one of a few names.
    package let names: [String]
    /// The accepted texts in the JSON schema.
    let schema: WordSchema
    /// True if an empty value is read as an empty text.
    let acceptsEmpty: Bool
    /// True if `{name: argument}` is read as `name:argument`.
    var takesArgument = false
    /// True if the value may be a secret, which must not be quoted in messages.
    var isSecret = false
    /// Returns the text in its canonical form, or nil if it is not accepted.
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
