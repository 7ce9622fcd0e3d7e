internal import Yams

/// Replaces each step `for each` with its steps, once for each value, before the file is checked.
enum ForEach {
    static let name = "for each"

    /// The file's tree with repeated steps; a `for each` with a wrong form stays, so that the checker reports it.
    static func expanded(_ root: Node) -> Node {
        guard case .mapping(var mapping) = root, case .sequence(let steps) = mapping["steps"] else { return root }
        mapping["steps"] = .sequence(Self.expanded(steps))
        return .mapping(mapping)
    }

    private static func expanded(_ steps: Node.Sequence) -> Node.Sequence {
        let nodes = steps.flatMap { step in Self.repeated(step) ?? [step] }
        return Node.Sequence(nodes, steps.tag, steps.style, steps.mark)
    }

    /// The steps that a valid `for each` expands to; nil for any other step.
    private static func repeated(_ step: Node) -> [Node]? {
        guard let mapping = step.mapping, mapping.count == 1, let heading = mapping[Node(Self.name)]?.mapping,
            Set(heading.keys.map { $0.scalar?.string }) == ["name", "in", "do"],
            let name = heading["name"]?.scalar?.string, case .sequence(let steps) = heading["do"]
        else { return nil }
        let list = heading["in"]?.sequence.map { Array($0) } ?? heading["in"].map { [$0] } ?? []
        let values = list.map(\.scalar?.string)
        guard !values.contains(nil), !values.isEmpty, !steps.isEmpty else { return nil }
        return values.flatMap { value in
            let replaced = Node.sequence(steps).replacing("${\(name)}", with: value ?? "")
            return replaced.sequence.map { Array(Self.expanded($0)) } ?? []
        }
    }
}

extension Node {
    /// The node with another text in place of one, in all scalars below it; marks stay.
    fileprivate func replacing(_ text: String, with other: String) -> Node {
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
