package import Yams

/// Compares a YAML tree with a ``Shape`` and collects all problems.
///
/// Invalid values are left out of the result, but the rest of the tree is still checked and read.
package struct Checker {
    private let source: String
    package private(set) var problems: [ConfigProblem] = []

    /// - Parameter source: The path of the file, or the name of the variable or flag, for use in problems.
    package init(source: String) { self.source = source }

    /// Checks the text of a file.
    ///
    /// Text without a value is treated as having no keys.
    ///
    /// - Parameter expand: Modifies the tree before it is checked, or throws the only problem of the file.
    /// - Returns: The value, or nil if the text is not a YAML mapping, which is then the only problem.
    package mutating func read(
        _ text: String,
        as shape: Shape,
        expand: (Node) throws(YAMLFault) -> Node = { $0 }
    ) -> ConfigValue? {
        do throws(YAMLFault) {
            let node = try YAMLText.compose(text)
            guard let node, NodeForm(node) != .empty else {
                return self.read(Node([] as [(Node, Node)]), as: shape, key: "", line: nil)
            }
            return self.read(try expand(node), as: shape, key: "", line: 1)
        } catch {
            self.report(error.message, key: "", line: error.line)
            return nil
        }
    }

    /// Checks a key and a value given on the command line.
    ///
    /// The value is parsed as YAML.
    package mutating func read(_ text: String, key: String, of fields: [Field]) -> ConfigValue? {
        defer { for index in self.problems.indices { self.problems[index].line = nil } }
        do throws(YAMLFault) {
            let value = try YAMLText.compose(text) ?? Node("", Tag(.null))
            return self.read(Node([(Node(key), value)]), as: .fields(fields), key: "", line: nil)
        } catch {
            self.report(error.message, key: key, line: nil)
            return nil
        }
    }

    /// Returns the value of a node.
    ///
    /// If the node does not have the shape, reports a problem and returns nil.
    ///
    /// - Parameters:
    ///   - key: The node's key, including the keys above it.
    ///   - line: The line to report if the node does not have one.
    package mutating func read(_ node: Node, as shape: Shape, key: String, line: Int?) -> ConfigValue? {
        let line = node.mark?.line ?? line
        let form = NodeForm(node)
        guard shape.accepts(form) else {
            let verb = if case .nothing = shape { "must have" } else { "must be" }
            self.report("\(key.isEmpty ? "the file " : "")\(verb) \(shape.allowed)", key: key, line: line)
            return nil
        }
        switch shape {
        case .nothing: return ConfigValue(.nothing, line: line)
        case .word(let word): return self.readWord(node, word, key: key, line: line)
        case .list(let element, let limit): return self.readList(node, of: element, limit, key: key, line: line)
        case .fields(let fields, let rule): return self.readFields(node, fields, rule, key: key, line: line)
        case .map(_, let element): return self.readMap(node, of: element, key: key, line: line)
        case .entry(let name, let fields): return self.readEntry(node, name, fields, key: key, line: line)
        case .either(let shapes):
            return shapes.first { $0.accepts(form) }.flatMap { self.read(node, as: $0, key: key, line: line) }
        case .named(_, _, let shape): return self.read(node, as: shape(), key: key, line: line)
        }
    }

    /// Adds a problem, unless it has been reported already.
    package mutating func report(_ message: String, key: String, line: Int?) {
        let problem = ConfigProblem(source: self.source, line: line, key: key, message: message)
        if !self.problems.contains(problem) { self.problems.append(problem) }
    }

    private mutating func readWord(_ node: Node, _ word: Word, key: String, line: Int?) -> ConfigValue? {
        let text = Self.text(node, word)
        if let canonical = text.flatMap(word.canonical) { return ConfigValue(.word(canonical), line: line) }
        let isHidden = word.isSecret(text ?? "")
        let written = isHidden ? "" : text.map { ", not `\($0)`" } ?? ""  // rule: settings-refused-secret-shown
        let isListed = !word.names.contains { !word.allowed.contains($0) }
        let hint = isHidden ? "" : NearestName.hint(for: text ?? "", among: word.names, isListed: isListed)
        self.report("must be \(word.allowed)\(written)\(hint)", key: key, line: line)
        return nil
    }

    private mutating func readList(
        _ node: Node,
        of element: Shape,
        _ limit: Int?,
        key: String,
        line: Int?
    ) -> ConfigValue? {
        let nodes = node.sequence.map { Array($0) } ?? [node]
        if let limit, nodes.count > limit {
            self.report("must have at most \(limit) values, not \(nodes.count)", key: key, line: line)
            return nil
        }
        let values = nodes.compactMap { self.read($0, as: element, key: key, line: line) }
        return ConfigValue(.list(values), line: line)
    }

    /// Returns the text of a scalar, or `name:argument` for `{name: argument}` if the word takes an argument.
    private static func text(_ node: Node, _ word: Word) -> String? {
        if NodeForm(node) == .empty { return "" }
        if let scalar = node.scalar { return scalar.string }
        guard let mapping = node.mapping, mapping.count == 1, let (key, value) = mapping.first,
            let name = key.scalar?.string, let argument = value.scalar?.string
        else { return nil }
        return "\(name):\(argument)"
    }

    private mutating func readFields(
        _ node: Node,
        _ fields: [Field],
        _ rule: FieldRule?,
        key: String,
        line: Int?
    ) -> ConfigValue? {
        var values: [String: ConfigValue] = [:]
        var named: Set<String> = []
        for (name, value) in node.mapping ?? [:] {
            let nameLine = name.mark?.line ?? line
            let text = name.scalar?.string ?? "?"
            guard let field = fields.first(where: { $0.name == text }) else {
                self.reportUnknown(text, among: fields.map(\.name), what: "key", key: key, line: nameLine)
                continue
            }
            named.insert(text)
            let read = self.read(value, as: field.shape, key: Self.path(key, text), line: nameLine)
            values[text] = read.map { ConfigValue($0.content, line: nameLine) }
        }
        for field in fields where field.isRequired && !named.contains(field.name) {
            self.report("must be set: \(field.shape.allowed)", key: Self.path(key, field.name), line: line)
        }
        let value = ConfigValue(.fields(values), line: line)
        if let (name, message) = rule?(value) {
            self.report(message, key: Self.path(key, name), line: value[name]?.line ?? line)
        }
        return value
    }

    private mutating func readMap(_ node: Node, of element: Shape, key: String, line: Int?) -> ConfigValue? {
        var values: [String: ConfigValue] = [:]
        for (name, value) in node.mapping ?? [:] {
            let text = name.scalar?.string ?? "?"
            values[text] = self.read(value, as: element, key: Self.path(key, text), line: name.mark?.line ?? line)
        }
        return ConfigValue(.fields(values), line: line)
    }

    /// Reads a value with a single key, the name of the entry.
    private mutating func readEntry(
        _ node: Node,
        _ what: String,
        _ fields: [Field],
        key: String,
        line: Int?
    ) -> ConfigValue? {
        let name: String
        let value: Node
        if let word = node.scalar?.string {
            (name, value) = (word, Node("", Tag(.null)))
        } else if let mapping = node.mapping, mapping.count == 1, let (first, second) = mapping.first {
            (name, value) = (first.scalar?.string ?? "?", second)
        } else {
            self.report("must have one key for each \(what); is a dash missing?", key: key, line: line)
            return nil
        }
        guard let field = fields.first(where: { $0.name == name }) else {
            self.reportUnknown(name, among: fields.map(\.name), what: what, key: key, line: line)
            return nil
        }
        return self.read(value, as: field.shape, key: Self.path(key, name), line: line).map {
            ConfigValue(.fields([name: $0]), line: line)
        }
    }

    private mutating func reportUnknown(_ name: String, among known: [String], what: String, key: String, line: Int?) {
        let path = key.isEmpty ? name : "\(key).\(name)"
        let hint = NearestName.hint(for: name, among: known)
        self.report("is not a known \(what)\(hint)", key: path, line: line)
    }

    private static func path(_ key: String, _ name: String) -> String { key.isEmpty ? name : "\(key).\(name)" }
}

/// The forms a YAML node can have.
enum NodeForm {
    case empty, word, list, keys

    init(_ node: Node) {
        if node.sequence != nil {
            self = .list
        } else if node.mapping != nil {
            self = .keys
        } else if let scalar = node.scalar, scalar.style == .plain || scalar.style == .any,
            ["", "~", "null"].contains(scalar.string)
        {
            self = .empty
        } else {
            self = .word
        }
    }
}
