internal import Yams

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
