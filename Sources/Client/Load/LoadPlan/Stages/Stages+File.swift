internal import ConfigText
internal import Yams

extension Stages {
    /// Reads stages from a file's text, with names; each problem names its line.
    ///
    ///     stages:
    ///       - name: warm up
    ///         for: 30s
    ///         ramp_to: 100      # connections; 100/s is a rate
    ///       - for: 2m           # stays there
    ///       - name: spike
    ///         for: 10s
    ///         at: 2000
    package init(yaml text: String, source: String) throws(PlanError) {
        let root = try Self.root(of: text, source)
        var reader = StagesReader(source: source)
        let stages = reader.read(root)
        guard reader.problems.isEmpty else { throw PlanError(reader.problems) }
        do throws(PlanProblem) {
            try self.init(stages, reader.unit ?? .connections, place: source)
        } catch {
            throw PlanError([error])
        }
    }

    private static func root(of text: String, _ source: String) throws(PlanError) -> Node {
        let problem: PlanProblem
        do throws(YAMLFault) {
            if let root = try YAMLText.compose(text) { return root }
            problem = PlanProblem(place: source, "it is empty")
        } catch {
            problem = PlanProblem(place: error.line.map { "\(source):\($0)" } ?? source, error.message)
        }
        throw PlanError([problem])
    }
}

/// Reads the stages of a file and gathers what is wrong with them.
private struct StagesReader {
    let source: String
    var problems: [PlanProblem] = []
    var unit: LoadUnit?

    private static let keys = ["name", "for", "ramp_to", "at"]

    mutating func read(_ root: Node) -> [Stage] {
        guard let mapping = root.mapping else {
            self.complain(root, "`stages:` with a list is expected here")
            return []
        }
        for (key, _) in mapping where key.string != "stages" {
            self.complain(key, self.unknown(key.string ?? "", among: ["stages"]))
        }
        guard let list = mapping["stages"] else {
            if self.problems.isEmpty { self.complain(root, "`stages:` with a list is expected here") }
            return []
        }
        guard let sequence = list.sequence, !sequence.isEmpty else {
            self.complain(list, "`stages` is a list, each with `for:`")
            return []
        }
        return sequence.compactMap { self.stage($0) }
    }

    private mutating func stage(_ node: Node) -> Stage? {
        guard let mapping = node.mapping else {
            self.complain(node, "a stage is a mapping, as `{for: 30s, ramp_to: 100}`")
            return nil
        }
        for (key, _) in mapping where !Self.keys.contains(key.string ?? "") {
            self.complain(key, self.unknown(key.string ?? "", among: Self.keys))
        }
        guard let time = mapping["for"] else {
            self.complain(node, "a stage says how long it takes, as `for: 30s`")
            return nil
        }
        guard let duration = time.scalar.flatMap({ DurationText.read($0.string) }) else {
            self.complain(time, "`for` takes a time, as 30s, 5m or 1h")
            return nil
        }
        if mapping["ramp_to"] != nil, let at = mapping["at"] {
            self.complain(at, "a stage ramps or jumps: `ramp_to` or `at`, not both")
        }
        let name = mapping["name"]?.scalar?.string ?? ""
        if let level = mapping["ramp_to"] {
            return self.level(level).map { Stage(.ramp(to: $0), for: duration, name: name) }
        }
        if let level = mapping["at"] {
            return self.level(level).map { Stage(.at($0), for: duration, name: name) }
        }
        return Stage(.hold, for: duration, name: name)
    }

    private mutating func level(_ node: Node) -> Double? {
        let place = self.place(of: node)
        do throws(PlanProblem) {
            let level = try StageLevel(parsing: (node.scalar?.string ?? "")[...], place: place)
            try level.agree(with: &self.unit, place: place)
            return level.number
        } catch {
            self.problems.append(error)
            return nil
        }
    }

    private func unknown(_ name: String, among names: [String]) -> String {
        let hint = NearestName.to(name, among: names).map { "; did you mean `\($0)`?" }
        return "there is no `\(name)`\(hint ?? "; there are \(names.joined(separator: ", "))")"
    }

    private func place(of node: Node) -> String { node.mark.map { "\(self.source):\($0.line)" } ?? self.source }

    private mutating func complain(_ node: Node, _ text: String) {
        self.problems.append(PlanProblem(place: self.place(of: node), text))
    }
}
