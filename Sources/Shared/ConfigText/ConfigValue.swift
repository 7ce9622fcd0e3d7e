internal import Yams

/// A checked configuration value, which is known to have the form required by its ``Shape``.
package struct ConfigValue: Equatable, Sendable {
    /// The line in the file, counting from 1; nil if the value does not come from a file.
    ///
    /// The value of a key has the key's line.
    package let line: Int?
    package let content: Content

    package indirect enum Content: Equatable, Sendable {
        case nothing
        /// A text in the canonical form of its kind: `true` for `yes`, `1h` for `60m`.
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

    /// The value of a key; nil if the key is missing.
    package subscript(_ key: String) -> ConfigValue? { self.fields?[key] }

    /// The value as YAML on one line, such as `[1m, 5m]`; words are not quoted.
    package var flowText: String {
        switch self.content {
        case .nothing: ""
        case .word(let text): text
        case .list(let list): "[\(list.map(\.flowText).joined(separator: ", "))]"
        case .fields(let fields):
            "{\(fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.flowText)" }.joined(separator: ", "))}"
        }
    }

    /// Keys with their values as a YAML file's text.
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
