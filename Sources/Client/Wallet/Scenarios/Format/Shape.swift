/// What a value in a scenario may look like.
///
/// Checking, the JSON schema and the page of keys all come from it, so that none of them can say something else.
package indirect enum Shape: Sendable {
    /// Nothing at all: the key, or the word, says everything.
    case nothing
    /// Any text; `form` says in a word or two what it is.
    case text(form: String)
    /// A text that a rule accepts; what it must be stands in `form`.
    case matching(form: String, pattern: String, @Sendable (String) -> Bool)
    case number(ClosedRange<Int>)
    case truth
    /// `250ms`, `61s`, `5m`, `1h`, `2d`.
    case duration
    /// One of some names.
    case name(what: String, [String])
    /// Several of them; one alone needs no brackets.
    case list(Shape)
    /// Keys of the table with their values.
    case fields([Field])
    /// Keys that the author chooses, each with such a value.
    case map(keys: String, Shape)
    /// A list of steps.
    case steps
    /// What is looked at later.
    case anything
    /// Keys of a device profile (docs/devices.md).
    case profile
    /// The first one whose form fits: word, list or keys.
    case either([Shape])

    /// One key with what it takes.
    package struct Field: Sendable {
        package let name: String
        package let shape: Shape
        /// What it is for, in one sentence.
        package let text: String
        package let isRequired: Bool

        init(_ name: String, _ shape: Shape, _ text: String, required isRequired: Bool = false) {
            self.name = name
            self.shape = shape
            self.text = text
            self.isRequired = isRequired
        }

        /// The same with another shape.
        func taking(_ shape: Shape) -> Field {
            Field(self.name, shape, self.text, required: self.isRequired)
        }
    }
}

extension Shape {
    /// What it takes, as a person reads it.
    var words: String {
        switch self {
        case .nothing: "nothing"
        case .text(let form), .matching(let form, _, _): form
        case .number(let range) where range.upperBound == .max: "a number from \(range.lowerBound)"
        case .number(let range): "a number, \(range.lowerBound) … \(range.upperBound)"
        case .truth: "true or false"
        case .duration: "a duration, as 250ms, 61s, 5m, 1h, 2d"
        case .name(let what, let names) where names.count > 8: what
        case .name(_, let names): names.joined(separator: " or ")
        case .list(let shape): "\(shape.words), or a list of such"
        case .fields(let fields): "keys: \(fields.map(\.name).joined(separator: ", "))"
        case .map(let keys, let shape): "\(keys), each with \(shape.words)"
        case .steps: "a list of steps"
        case .anything: "anything"
        case .profile: "keys of a device profile (docs/devices.md)"
        case .either(let shapes): shapes.map(\.words).joined(separator: "; or ")
        }
    }
}
