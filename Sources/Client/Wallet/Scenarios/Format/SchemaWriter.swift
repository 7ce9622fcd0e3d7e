/// The format as a JSON schema, by which editors complete and check scenario files.
package enum ScenarioSchema {
    /// The schema's text (docs/scenario.schema.json).
    package static var text: String {
        let schema = JSONTree.object([
            ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
            ("title", .text("A scenario of the wallet")),
            ("description", .text("Made from the table of keys; `wallet run --check` checks the same and more.")),
            (
                "$defs",
                .object([
                    ("step", Self.step),
                    ("profile", Self.profile),
                    ("action", Self.schema(StepTable.action)),
                    ("flowStep", Self.schema(StepTable.step)),
                ])
            ),
        ])
        return schema.merging(Self.fields(ScenarioTable.root)).text() + "\n"
    }

    /// A word, or one key with its value.
    private static var step: JSONTree {
        let words = StepTable.all.filter { Checker.form(of: $0.shape).contains(.empty) }.map { JSONTree.text($0.name) }
        return .object([
            (
                "oneOf",
                .list([
                    .object([("enum", .list(words))]),
                    Self.fields(StepTable.all).merging(
                        .object([
                            ("minProperties", .number(1)), ("maxProperties", .number(1)),
                        ])
                    ),
                ])
            )
        ])
    }

    private static var profile: JSONTree {
        .object([
            ("type", .text("object")),
            ("description", .text("A device profile (docs/devices.md); what is not stated stays as it is.")),
            ("additionalProperties", .truth(false)),
            (
                "properties",
                .object(
                    Shape.profileKeys.map { key in
                        (key.name, .object([("description", .text("\(key.text) (\(key.allowed))"))]))
                    }
                )
            ),
        ])
    }

    private static func fields(_ fields: [Shape.Field]) -> JSONTree {
        let required = fields.filter(\.isRequired).map { JSONTree.text($0.name) }
        let object: [(String, JSONTree)] = [
            ("type", .text("object")),
            ("additionalProperties", .truth(false)),
            (
                "properties",
                .object(
                    fields.map { field in
                        (field.name, .object([("description", .text(field.text))]).merging(Self.reference(field.shape)))
                    }
                )
            ),
        ]
        return .object(required.isEmpty ? object : object + [("required", .list(required))])
    }

    /// The long lists of names stand in the schema once.
    private static func reference(_ shape: Shape) -> JSONTree {
        guard case .name(let what, let names) = shape, names.count > 20 else { return Self.schema(shape) }
        return .object([("$ref", .text(what == "action" ? "#/$defs/action" : "#/$defs/flowStep"))])
    }

    /// In the steps of `for each` the name of the value may stand in its place.
    private static func orName(_ schema: JSONTree) -> JSONTree {
        .object([
            ("anyOf", .list([schema, .object([("type", .text("string")), ("pattern", .text("[$][{]"))])]))
        ])
    }

    private static func schema(_ shape: Shape) -> JSONTree {
        switch shape {
        case .nothing: .object([("type", .text("null"))])
        case .text: .object([("type", .list([.text("string"), .text("number"), .text("boolean")]))])
        case .matching(let form, let pattern, _):
            .object([
                ("type", .list([.text("string"), .text("number"), .text("boolean")])),
                ("pattern", .text("\(pattern)|[$][{]")), ("description", .text(form)),
            ])
        case .number(let range):
            Self.orName(
                .object([
                    ("type", .text("integer")), ("minimum", .number(range.lowerBound)),
                    ("maximum", .number(range.upperBound)),
                ])
            )
        case .truth: Self.orName(.object([("type", .text("boolean"))]))
        case .duration: .object([("type", .text("string")), ("pattern", .text("^[0-9]+ ?(ms|s|m|h|d)$|[$][{]"))])
        case .name(_, let names): Self.orName(.object([("enum", .list(names.map(JSONTree.text)))]))
        case .list(let element):
            .object([
                (
                    "anyOf",
                    .list([
                        Self.reference(element),
                        .object([("type", .text("array")), ("items", Self.reference(element))]),
                    ])
                )
            ])
        case .fields(let fields): Self.fields(fields)
        case .map(_, let element):
            .object([("type", .text("object")), ("additionalProperties", Self.reference(element))])
        case .steps: .object([("type", .text("array")), ("items", .object([("$ref", .text("#/$defs/step"))]))])
        case .profile: .object([("$ref", .text("#/$defs/profile"))])
        case .anything: .object([])
        case .either(let shapes): .object([("anyOf", .list(shapes.map(Self.reference)))])
        }
    }
}

/// JSON whose keys keep their order.
indirect enum JSONTree {
    case text(String)
    case number(Int)
    case truth(Bool)
    case list([JSONTree])
    case object([(String, JSONTree)])

    /// The keys of both.
    func merging(_ other: JSONTree) -> JSONTree {
        guard case .object(let left) = self, case .object(let right) = other else { return self }
        let names = Set(right.map(\.0))
        return .object(
            left.filter { !names.contains($0.0) || $0.0 == "description" }
                + right.filter { pair in
                    pair.0 != "description" || !left.contains { $0.0 == "description" }
                }
        )
    }

    func text(indentation: String = "") -> String {
        let inner = indentation + "  "
        switch self {
        case .text(let text): return JSONText.quoted(text)
        case .number(let number): return "\(number)"
        case .truth(let truth): return "\(truth)"
        case .list(let list):
            guard !list.isEmpty else { return "[]" }
            if list.allSatisfy(\.isWord) {
                return "[" + list.map { $0.text() }.joined(separator: ", ") + "]"
            }
            return "[\n" + list.map { inner + $0.text(indentation: inner) }.joined(separator: ",\n")
                + "\n\(indentation)]"
        case .object(let pairs):
            guard !pairs.isEmpty else { return "{}" }
            let lines = pairs.map { "\(inner)\(JSONText.quoted($0.0)): \($0.1.text(indentation: inner))" }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indentation)}"
        }
    }

    private var isWord: Bool {
        switch self {
        case .text, .number, .truth: true
        case .list, .object: false
        }
    }
}
