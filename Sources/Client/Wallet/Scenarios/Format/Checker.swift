internal import SimulatedPhone
internal import ConfigText
internal import Vocabulary
internal import Yams

/// Holds a YAML tree against a ``Shape`` and collects what does not fit.
///
/// Whatever is wrong gives a problem and nothing else: the rest of the file is checked all the same.
struct Checker {
    let path: String
    private(set) var problems: [FormatProblem] = []

    init(path: String) {
        self.path = path
    }

    /// The value that a node stands for; nil where it is not of this shape, which is then a problem.
    ///
    /// - Parameters:
    ///   - key: The key that the node belongs to, with those above it.
    ///   - line: Where to look when the node itself says no line.
    mutating func read(_ node: Node, as shape: Shape, key: String, line: Int) -> Value? {
        let line = node.mark?.line ?? line
        switch shape {
        case .either(let shapes): return self.readEither(node, shapes, key: key, line: line)
        case .list(let element): return self.readList(node, of: element, key: key, line: line)
        case .fields(let fields): return self.readFields(node, fields, key: key, line: line)
        case .map(_, let element): return self.readMap(node, of: element, key: key, line: line)
        case .steps: return self.readSteps(node, key: key, line: line)
        case .profile: return self.readProfile(node, key: key, line: line)
        case .anything: return .nothing
        case .nothing, .text, .matching, .number, .truth, .duration, .name:
            return self.readWord(node, shape, key: key, line: line)
        }
    }

    mutating func report(_ message: String, key: String, line: Int) {
        self.problems.append(FormatProblem(path: self.path, line: line, key: key, message: message))
    }

    /// A problem about a name that is none of those known, with the nearest of them.
    mutating func reportUnknown(_ name: String, among known: [String], what: String, key: String, line: Int) {
        let hint: String
        if let nearest = NearestName.to(name, among: known) {
            hint = "; did you mean `\(nearest)`?"
        } else if known.count <= 40 {
            hint = "; there are \(known.joined(separator: ", "))"
        } else {
            hint = ""
        }
        self.report("has no \(what) `\(name)`\(hint)", key: key, line: line)
    }

    private mutating func readEither(_ node: Node, _ shapes: [Shape], key: String, line: Int) -> Value? {
        guard let shape = shapes.first(where: { Self.form(of: $0).contains(NodeForm(node)) }) else {
            self.report("takes \(Shape.either(shapes).words)", key: key, line: line)
            return nil
        }
        return self.read(node, as: shape, key: key, line: line)
    }

    private mutating func readList(_ node: Node, of element: Shape, key: String, line: Int) -> Value? {
        guard let sequence = node.sequence else {
            return self.read(node, as: element, key: key, line: line).map { .list([.init(line: line, value: $0)]) }
        }
        let values = sequence.map { node in
            self.read(node, as: element, key: key, line: line).map {
                Value.Located(line: node.mark?.line ?? line, value: $0)
            }
        }
        return values.contains(nil) ? nil : .list(values.compactMap(\.self))
    }

    private mutating func readFields(_ node: Node, _ fields: [Shape.Field], key: String, line: Int) -> Value? {
        guard let mapping = node.mapping else {
            self.report("takes \(Shape.fields(fields).words)", key: key, line: line)
            return nil
        }
        var values: [String: Value.Located] = [:]
        for (name, value) in mapping {
            let nameLine = name.mark?.line ?? line
            guard let text = name.scalar?.string, let field = fields.first(where: { $0.name == text }) else {
                let name = name.scalar?.string ?? "?"
                self.reportUnknown(name, among: fields.map(\.name), what: "key", key: key, line: nameLine)
                continue
            }
            let path = key.isEmpty ? text : "\(key).\(text)"
            guard let read = self.read(value, as: field.shape, key: path, line: nameLine) else { continue }
            values[text] = .init(line: nameLine, value: read)
        }
        for field in fields where field.isRequired && !mapping.keys.contains(where: { $0.scalar?.string == field.name })
        {
            self.report("needs `\(field.name)`: \(field.text)", key: key, line: line)
        }
        return .fields(values)
    }

    private mutating func readMap(_ node: Node, of element: Shape, key: String, line: Int) -> Value? {
        guard let mapping = node.mapping else {
            self.report("takes \(Shape.map(keys: "names", element).words)", key: key, line: line)
            return nil
        }
        var values: [String: Value.Located] = [:]
        for (name, value) in mapping {
            let text = name.scalar?.string ?? "?"
            let nameLine = name.mark?.line ?? line
            guard let read = self.read(value, as: element, key: "\(key).\(text)", line: nameLine) else { continue }
            values[text] = .init(line: nameLine, value: read)
        }
        return .fields(values)
    }

    /// Each step becomes a value with one key: its name.
    private mutating func readSteps(_ node: Node, key: String, line: Int) -> Value? {
        guard let sequence = node.sequence else {
            self.report("takes a list, one step each: `- launch`", key: key, line: line)
            return nil
        }
        return .list(sequence.flatMap { self.readStep($0, key: key, line: line) })
    }

    /// One step, or those that `for each` stands for; none where it is wrong.
    private mutating func readStep(_ node: Node, key: String, line: Int) -> [Value.Located] {
        let line = node.mark?.line ?? line
        let name: String
        let value: Node
        if let word = node.scalar?.string {
            (name, value) = (word, Node("", Tag(.null)))
        } else if let mapping = node.mapping, mapping.count == 1, let (first, second) = mapping.first {
            (name, value) = (first.scalar?.string ?? "?", second)
        } else {
            self.report("takes steps of one key each; is a dash missing?", key: key, line: line)
            return []
        }
        guard let field = StepTable.all.first(where: { $0.name == name }) else {
            self.reportUnknown(name, among: StepTable.all.map(\.name), what: "step", key: key, line: line)
            return []
        }
        if name == StepTable.forEach { return self.readForEach(value, field, key: key, line: line) }
        return self.read(value, as: field.shape, key: "\(key).\(name)", line: line).map {
            [.init(line: line, value: .fields([name: .init(line: line, value: $0)]))]
        } ?? []
    }

    /// The steps once for each value, with the value in the place of its name.
    private mutating func readForEach(_ node: Node, _ field: Shape.Field, key: String, line: Int) -> [Value.Located] {
        guard case .fields(let fields) = field.shape else { return [] }
        let key = "\(key).\(StepTable.forEach)"
        let heading = Shape.fields(fields.map { $0.name == "do" ? $0.taking(.anything) : $0 })
        guard let read = self.read(node, as: heading, key: key, line: line), let name = read["name"]?.text,
            let values = read["in"]?.texts, let steps = node.mapping?["do"]
        else { return [] }
        return values.flatMap { value -> [Value.Located] in
            let node = steps.replacing("${\(name)}", with: value)
            let before = self.problems.count
            let read = self.readSteps(node, key: "\(key).do", line: line)
            self.dropRepeated(from: before)
            return read?.list ?? []
        }
    }

    /// The same problem is there for every value; once says it.
    private mutating func dropRepeated(from index: Int) {
        let new = self.problems[index...]
        self.problems.removeSubrange(index...)
        for problem in new where !self.problems.contains(problem) { self.problems.append(problem) }
    }

    /// A device profile is checked by who knows it, and kept as the text that it is.
    private mutating func readProfile(_ node: Node, key: String, line: Int) -> Value? {
        do throws(ProfileError) {
            var profile = DeviceProfile(.android)
            try profile.apply(node, source: self.path)
        } catch {
            for problem in error.problems {
                let path = problem.key.isEmpty ? key : "\(key).\(problem.key)"
                self.report(problem.text, key: path, line: problem.line ?? line)
            }
            return nil
        }
        guard let text = try? Yams.serialize(node: node) else { return nil }
        return .text(text)
    }
}

extension Node {
    /// The same with another text in the place of one, in all words below it; marks stay.
    func replacing(_ text: String, with other: String) -> Node {
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

/// The forms that a node can have.
enum NodeForm: Hashable {
    case empty
    case word
    case list
    case keys

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

extension Checker {
    /// The forms in which a shape can be written.
    static func form(of shape: Shape) -> Set<NodeForm> {
        switch shape {
        case .nothing: [.empty]
        case .text, .matching, .number, .truth, .duration, .name: [.word]
        case .list(let element): Self.form(of: element).union([.list])
        case .fields, .map, .profile: [.keys]
        case .steps: [.list]
        case .anything: [.empty, .word, .list, .keys]
        case .either(let shapes): shapes.reduce(into: []) { $0.formUnion(Self.form(of: $1)) }
        }
    }

    private mutating func readWord(_ node: Node, _ shape: Shape, key: String, line: Int) -> Value? {
        let form = NodeForm(node)
        guard Self.form(of: shape).contains(form) else {
            self.report("takes \(shape.words)", key: key, line: line)
            return nil
        }
        guard form == .word else { return .nothing }
        let text = node.scalar?.string ?? ""
        if let value = Self.value(text, shape) { return value }
        if case .name(let what, let names) = shape {
            self.reportUnknown(text, among: names, what: what, key: key, line: line)
        } else {
            self.report("takes \(shape.words), not `\(text)`", key: key, line: line)
        }
        return nil
    }

    private static func value(_ text: String, _ shape: Shape) -> Value? {
        switch shape {
        case .text: .text(text)
        case .matching(_, _, let accepts): accepts(text) || text.contains("${") ? .text(text) : nil
        case .number(let range): Int(text).flatMap { range.contains($0) ? .number($0) : nil }
        case .truth:
            ["true", "yes", "on"].contains(text)
                ? .truth(true)
                : ["false", "no", "off"].contains(text) ? .truth(false) : nil
        case .duration: DurationText.read(text).map(Value.duration)
        case .name(_, let names): names.contains(text) ? .text(text) : nil
        case .nothing, .list, .fields, .map, .steps, .profile, .anything, .either: nil
        }
    }
}
