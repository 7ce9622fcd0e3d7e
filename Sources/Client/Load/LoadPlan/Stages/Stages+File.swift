internal import ConfigText

extension Stages {
    /// Reads stages and their names from the text of a file.
    ///
    /// Each problem names the line it occurs in.
    ///
    ///     stages:
    ///       - name: warm up
    ///         for: 30s
    ///         ramp_to: 100      # connections; 100/s is a rate
    ///       - for: 2m           # the load stays at 100
    ///       - name: spike
    ///         for: 10s
    ///         at: 2000
    package init(yaml text: String, source: String) throws(PlanError) {
        var checker = Checker(source: source)
        let root = checker.read(text, as: Self.shape)
        var problems = checker.problems.map { PlanProblem(place: $0.place, $0.text) }
        var unit: LoadUnit?
        var stages: [Stage] = []
        for value in root?["stages"]?.list ?? [] {
            do throws(PlanProblem) {
                if let stage = try Stage(value, &unit, source) { stages.append(stage) }
            } catch {
                problems.append(error)
            }
        }
        guard problems.isEmpty else { throw PlanError(problems) }
        do throws(PlanProblem) {
            try self.init(stages, unit ?? .connections, place: source)
        } catch {
            throw PlanError([error])
        }
    }

    private static let shape = Shape.fields([
        Field("stages", .list(Self.stage), "The stages in order.", required: true)
    ])

    private static let stage = Shape.fields([
        Field("name", .text("a name"), "Name of the stage in reports."),
        Field("for", .duration, "Duration of the stage.", required: true),
        Field("ramp_to", Self.level, "Load at the end of the stage, which changes evenly from the load before."),
        Field("at", Self.level, "Load of the whole stage."),
    ]) { value in
        value["ramp_to"] != nil && value["at"] != nil ? ("at", "cannot be combined with `ramp_to`") : nil
    }

    private static let level = Shape.text("a number of connections, such as 100, or a rate, such as 100/s")
}

extension Stage {
    /// Creates a stage.
    ///
    /// Returns nil if the checker rejected the duration.
    fileprivate init?(_ value: ConfigValue, _ unit: inout LoadUnit?, _ source: String) throws(PlanProblem) {
        guard let duration = value["for"]?.duration else { return nil }
        let (target, jump) = (value["ramp_to"], value["at"])
        var shape = Shape.hold
        if let level = target ?? jump, let text = level.text {
            let place = level.line.map { "\(source):\($0)" } ?? source
            let level = try StageLevel(parsing: text[...], place: place)
            try level.agree(with: &unit, place: place)
            shape = target == nil ? .at(level.number) : .ramp(to: level.number)
        }
        self.init(shape, for: duration, name: value["name"]?.text ?? "")
    }
}
