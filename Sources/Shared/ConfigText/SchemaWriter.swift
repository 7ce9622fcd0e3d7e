/// Writes the declared keys as a JSON schema, which editors can use to complete and check files.
package struct SchemaWriter {
    private let title: String
    private let description: String
    private let definitions: [(String, Shape)]
    /// A pattern for placeholders, which can replace any value in a file.
    private let placeholder: String

    /// - Parameter definitions: The shapes that the schema only defines once. All of them must be `.named`.
    package init(title: String, description: String, definitions: [Shape], placeholder: String) {
        self.title = title
        self.description = description
        self.definitions = definitions.compactMap {
            if case .named(let name, _, let shape) = $0 { (name, shape()) } else { nil }
        }
        self.placeholder = placeholder
    }

    /// Returns the schema for a file with the given keys.
    package func text(_ fields: [Field]) -> String {
        let head = JSONTree.object([
            ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
            ("title", .text(self.title)),
            ("description", .text(self.description)),
            ("$defs", .object(self.definitions.map { ($0.0, self.schema($0.1)) })),
        ])
        return head.merging(self.schema(fields)).text() + "\n"
    }

    private func schema(_ fields: [Field]) -> JSONTree {
        let required = fields.filter(\.isRequired).map { JSONTree.text($0.name) }
        let properties = fields.map { field in
            (field.name, JSONTree.object([("description", .text(field.text))]).merging(self.schema(field.shape)))
        }
        let object: [(String, JSONTree)] = [
            ("type", .text("object")), ("additionalProperties", .truth(false)), ("properties", .object(properties)),
        ]
        return .object(required.isEmpty ? object : object + [("required", .list(required))])
    }

    private func schema(_ shape: Shape) -> JSONTree {
        switch shape {
        case .nothing: .object([("type", .text("null"))])
        case .word(let word): self.schema(word)
        case .list(let element, let limit):
            limit == nil ? Self.any([self.schema(element), self.array(of: element)]) : self.array(of: element)
        case .fields(let fields, _): self.schema(fields)
        case .map(_, let element):
            .object([("type", .text("object")), ("additionalProperties", self.schema(element))])
        case .entry(_, let fields): self.entry(fields)
        case .either(let shapes): Self.any(shapes.map(self.schema))
        case .named(let name, _, _): .object([("$ref", .text("#/$defs/\(name)"))])
        }
    }

    /// Returns the schema for either just a key or exactly one key with its value.
    private func entry(_ fields: [Field]) -> JSONTree {
        let alone = fields.filter { $0.shape.accepts(.empty) }.map { JSONTree.text($0.name) }
        let single = JSONTree.object([("minProperties", .number(1)), ("maxProperties", .number(1))])
        return .object([("oneOf", .list([.object([("enum", .list(alone))]), self.schema(fields).merging(single)]))])
    }

    private func array(of element: Shape) -> JSONTree {
        .object([("type", .text("array")), ("items", self.schema(element))])
    }

    private func schema(_ word: Word) -> JSONTree {
        let more = (word.acceptsEmpty ? ["null"] : []) + (word.takesArgument ? ["object"] : [])
        let scalar = JSONTree.list((["string", "number", "boolean"] + more).map(JSONTree.text))
        switch word.schema {
        case .text: return .object([("type", scalar)])
        case .pattern(let pattern):
            return .object([
                ("type", scalar), ("pattern", .text("\(pattern)|\(self.placeholder)")),
                ("description", .text(word.allowed)),
            ])
        case .number(let minimum, let maximum):
            return self.orPlaceholder([
                ("type", .text("integer")), ("minimum", .number(minimum)), ("maximum", .number(maximum)),
            ])
        case .truth: return self.orPlaceholder([("type", .text("boolean"))])
        case .names(let names): return self.orPlaceholder([("enum", .list(names.map(JSONTree.text)))])
        }
    }

    private func orPlaceholder(_ schema: [(String, JSONTree)]) -> JSONTree {
        Self.any([.object(schema), .object([("type", .text("string")), ("pattern", .text(self.placeholder))])])
    }

    private static func any(_ schemas: [JSONTree]) -> JSONTree { .object([("anyOf", .list(schemas))]) }
}
