internal import Yams

/// Expands `for each` steps: before the file is checked, their steps are repeated for every value or row.
enum ForEach {
    static let name = "for each"

    /// Expands the steps of a parsed file.
    ///
    /// A malformed `for each` is left alone, so that the checker reports it.
    static func expanded(_ root: Node) -> Node {
        guard case .mapping(var mapping) = root else { return root }
        for key in ["steps", "before", "after"] {
            if case .sequence(let steps) = mapping[Node(key)] { mapping[Node(key)] = .sequence(Self.expanded(steps)) }
        }
        return .mapping(mapping)
    }

    private static func expanded(_ steps: Node.Sequence) -> Node.Sequence {
        let nodes = steps.flatMap { step in Self.repeated(step) ?? [step] }
        return Node.Sequence(nodes, steps.tag, steps.style, steps.mark)
    }

    /// Returns the expanded steps of a valid `for each`, or nil for any other step.
    private static func repeated(_ step: Node) -> [Node]? {
        guard let mapping = step.mapping, mapping.count == 1, let heading = mapping[Node(Self.name)]?.mapping,
            Set(heading.keys.map { $0.scalar?.string }) == ["name", "in", "do"],
            let names = heading["name"].flatMap(Self.texts), case .sequence(let steps) = heading["do"],
            let rows = heading["in"].flatMap({ Self.rows($0, columns: names.count) })
        else { return nil }
        guard !rows.isEmpty, !steps.isEmpty else { return nil }
        return rows.flatMap { row in
            let replaced = Node.sequence(steps).filled(with: Array(zip(names, row)))
            return replaced.sequence.map { Array(Self.expanded($0)) } ?? []
        }
    }

    /// Returns the table's rows.
    ///
    /// With one name, each row is a single value; with several, it has one value per name.
    private static func rows(_ node: Node, columns: Int) -> [[String]]? {
        let nodes = node.sequence.map { Array($0) } ?? [node]
        let rows = nodes.map(Self.texts)
        guard rows.allSatisfy({ $0?.count == columns }) else { return nil }
        return rows.compactMap(\.self)
    }

    /// Returns the node's text or list of texts, or nil if it is neither.
    private static func texts(_ node: Node) -> [String]? {
        let nodes = node.sequence.map { Array($0) } ?? [node]
        let texts = nodes.compactMap(\.scalar?.string)
        return texts.count == nodes.count && !texts.isEmpty ? texts : nil
    }
}

extension Node {
    /// Returns a copy with each `${NAME}` replaced by its value, including in nested nodes.
    func filled(with values: [(name: String, value: String)]) -> Node {
        values.reduce(self) { $0.replacing("${\($1.name)}", with: $1.value) }
    }

    private func replacing(_ text: String, with other: String) -> Node {
        switch self {
        case .scalar(var scalar):
            scalar.string = scalar.string.split(separator: text, omittingEmptySubsequences: false)
                .joined(separator: other)
            return .scalar(scalar)
        case .mapping(let mapping):
            let pairs = mapping.map { ($0.key, $0.value.replacing(text, with: other)) }
            return .mapping(Node.Mapping(pairs, mapping.tag, mapping.style, mapping.mark))
        case .sequence(let sequence):
            let nodes = sequence.map { $0.replacing(text, with: other) }
            return .sequence(Node.Sequence(nodes, sequence.tag, sequence.style, sequence.mark))
        case .alias:
            return self
        }
    }
}
