internal import ConfigText
internal import Yams

/// Expands `for each` steps: before the file is checked, their steps are repeated for every value or row.
enum ForEach {
    static let name = "for each"

    /// The number of bytes that placeholders and repetitions may add up to in one file.
    ///
    /// A few nested `for each`, or values that contain placeholders, would otherwise exceed any memory.
    static let limit = 1 << 22

    /// Expands the steps of a parsed file.
    ///
    /// A malformed `for each` is left alone, so that the checker reports it.
    static func expanded(_ root: Node) throws(YAMLFault) -> Node {
        guard case .mapping(var mapping) = root else { return root }
        var room = Self.limit
        for key in ["steps", "before", "after"] {
            if case .sequence(let steps) = mapping[Node(key)] {
                mapping[Node(key)] = .sequence(try Self.expanded(steps, &room))
            }
        }
        return .mapping(mapping)
    }

    private static func expanded(_ steps: Node.Sequence, _ room: inout Int) throws(YAMLFault) -> Node.Sequence {
        var nodes: [Node] = []
        for step in steps { nodes += try Self.repeated(step, &room) ?? [step] }
        return Node.Sequence(nodes, steps.tag, steps.style, steps.mark)
    }

    /// Returns the expanded steps of a valid `for each`, or nil for any other step.
    private static func repeated(_ step: Node, _ room: inout Int) throws(YAMLFault) -> [Node]? {
        guard let mapping = step.mapping, mapping.count == 1, let heading = mapping[Node(Self.name)]?.mapping,
            Set(heading.keys.map { $0.scalar?.string }) == ["name", "in", "do"],
            let names = heading["name"].flatMap(Self.texts), case .sequence(let steps) = heading["do"],
            let table = heading["in"]
        else { return nil }
        let rows = try Self.rows(table, columns: names.count)
        guard let rows, !rows.isEmpty, !steps.isEmpty else { return nil }
        var nodes: [Node] = []
        for row in rows {
            let filled = try Node.sequence(steps).filled(with: Array(zip(names, row)), &room)
            if let steps = filled.sequence { nodes += try Self.expanded(steps, &room) }
        }
        return nodes
    }

    /// Returns the table's rows.
    ///
    /// With one name, each row is a single value; with several, it has one value per name.
    private static func rows(_ node: Node, columns: Int) throws(YAMLFault) -> [[String]]? {
        let nodes = node.sequence.map { Array($0) } ?? [node]
        let rows = nodes.compactMap(Self.texts)
        guard rows.count == nodes.count else { return nil }
        for (row, node) in zip(rows, nodes) where row.count != columns {
            let names = columns == 1 ? "1 name" : "\(columns) names"
            let message =
                "`for each` has \(names), and this row has \(row.count == 1 ? "1 value" : "\(row.count) values")"
            throw YAMLFault(line: node.mark?.line, message: message)
        }
        return rows
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
    ///
    /// - Parameter room: The number of bytes that may still be written, from ``ForEach/limit``.
    func filled(with values: [(name: String, value: String)], _ room: inout Int) throws(YAMLFault) -> Node {
        var node = self
        for (name, value) in values { node = try node.replacing("${\(name)}", with: value, &room) }
        return node
    }

    private func replacing(_ text: String, with other: String, _ room: inout Int) throws(YAMLFault) -> Node {
        // The punctuation of a node.
        try self.take(4, &room)
        switch self {
        case .scalar(var scalar):
            let parts = scalar.string.split(separator: text, omittingEmptySubsequences: false)
            try self.take(parts.reduce(other.utf8.count * (parts.count - 1)) { $0 + $1.utf8.count }, &room)
            scalar.string = parts.joined(separator: other)
            return .scalar(scalar)
        case .mapping(let mapping):
            var pairs: [(Node, Node)] = []
            for (key, value) in mapping { pairs.append((key, try value.replacing(text, with: other, &room))) }
            return .mapping(Node.Mapping(pairs, mapping.tag, mapping.style, mapping.mark))
        case .sequence(let sequence):
            var nodes: [Node] = []
            for node in sequence { nodes.append(try node.replacing(text, with: other, &room)) }
            return .sequence(Node.Sequence(nodes, sequence.tag, sequence.style, sequence.mark))
        case .alias: return self
        }
    }

    private func take(_ byteCount: Int, _ room: inout Int) throws(YAMLFault) {
        room -= byteCount
        guard room < 0 else { return }
        let message = "longer than \(ForEach.limit) bytes once `for each` is repeated and all `${NAME}` are replaced"
        throw YAMLFault(line: self.mark?.line, message: message)
    }
}
