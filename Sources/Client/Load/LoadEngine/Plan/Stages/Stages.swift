internal import ConfigText

/// The stages of a run and their common unit of load.
package struct Stages: Hashable, Sendable {
    package let unit: LoadUnit
    package let stages: [Stage]

    /// The maximum total duration.
    package static let longest: Duration = .seconds(31 * 86_400)

    /// - Throws: A problem if the stages have no load or no duration, or if they take too long.
    package init(_ stages: [Stage], _ unit: LoadUnit, place: String) throws(PlanProblem) {
        guard stages.contains(where: { $0.duration > .zero }) else {
            throw PlanProblem(place: place, "the stages have no duration")
        }
        let whole = stages.reduce(Duration.zero) { $0 + $1.duration }
        guard whole <= Self.longest, stages.allSatisfy({ $0.duration >= .zero }) else {
            throw PlanProblem(place: place, "a run takes at most 31 days")
        }
        let hasLoad = stages.contains { stage in
            switch stage.shape {
            case .ramp(let level), .at(let level): level > 0
            case .hold: false
            }
        }
        guard hasLoad else { throw PlanProblem(place: place, "no stage has a load above 0") }
        self.unit = unit
        self.stages = stages
    }

    /// Creates a single stage with a constant load.
    package static func constant(
        _ level: Double,
        _ unit: LoadUnit,
        for duration: Duration,
        place: String
    ) throws(PlanProblem) -> Stages {
        try Stages([Stage(.at(level), for: duration)], unit, place: place)
    }

    /// Parses stages such as `30s:100,2m:500,10s:=2000,1m`: ramps to 100 and 500, then a spike to 2000 that holds for
    /// another minute.
    ///
    /// Numbers are connections or, if followed by `/s`, checks due per second.
    package init(parsing text: String, place: String = "--stages") throws(PlanProblem) {
        var stages: [Stage] = []
        var unit: LoadUnit?
        for (number, part) in text.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let place = "\(place), stage \(number + 1)"
            let halves = part.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(Self.trimmed)
            guard let duration = halves.first.flatMap({ DurationText.read(String($0)) }) else {
                throw PlanProblem(place: place, "`\(part)` is not TIME:LOAD: `30s:100`, `10s:=2000` or `2m:500/s`")
            }
            guard halves.count == 2 else {
                stages.append(Stage(.hold, for: duration))
                continue
            }
            let isJump = halves[1].hasPrefix("=")
            let level = try StageLevel(parsing: isJump ? halves[1].dropFirst() : halves[1], place: place)
            try level.agree(with: &unit, place: place)
            stages.append(Stage(isJump ? .at(level.number) : .ramp(to: level.number), for: duration))
        }
        try self.init(stages, unit ?? .connections, place: place)
    }

    /// The text without leading and trailing spaces.
    static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " }
        while text.last == " " { text = text.dropLast() }
        return text
    }

    /// The text form, as parsed by ``init(parsing:place:)``.
    package var text: String { self.stages.map { $0.text(self.unit) }.joined(separator: ",") }

    package var duration: Duration { self.stages.reduce(.zero) { $0 + $1.duration } }

    /// The highest load at any moment.
    package var peak: Double {
        self.stages.reduce(0) { peak, stage in
            switch stage.shape {
            case .ramp(let level), .at(let level): max(peak, level)
            case .hold: peak
            }
        }
    }
}

/// A load and its unit.
struct StageLevel {
    let number: Double
    let unit: LoadUnit

    /// Parses `500` or `500/s`.
    init(parsing text: Substring, place: String) throws(PlanProblem) {
        let isRate = text.hasSuffix("/s")
        let digits = isRate ? text.dropLast(2) : text
        guard let number = isRate ? CountText.readNumber(digits) : CountText.readCount(digits).map(Double.init) else {
            let what = isRate ? "a rate, `500/s` or `2.5k/s`" : "a number of connections, `100`, or a rate, `100/s`"
            throw PlanProblem(place: place, "`\(text)` is not \(what)")
        }
        self.number = number
        self.unit = isRate ? .perSecond : .connections
    }

    /// Checks that all stages of a run have the same unit.
    func agree(with unit: inout LoadUnit?, place: String) throws(PlanProblem) {
        guard unit == nil || unit == self.unit else {
            let earlier = unit == .perSecond ? "a rate (/s)" : "connections"
            throw PlanProblem(place: place, "the unit must be the same as in the earlier stages: \(earlier)")
        }
        unit = self.unit
    }
}

package enum LoadUnit: String, Hashable, Sendable, CaseIterable {
    /// A closed loop with this many connections, each with one check in flight.
    case connections
    /// An open loop in which this many checks become due per second, no matter how fast the server is.
    case perSecond
}

/// A period of a run during which the load is constant or changes at a constant rate.
package struct Stage: Hashable, Sendable {
    /// The way the load changes during the stage.
    package enum Shape: Hashable, Sendable {
        /// A linear change from the load at the end of the previous stage.
        ///
        /// The first stage starts at 0.
        case ramp(to: Double)
        /// A jump to a constant load.
        case at(Double)
        /// The load at the end of the previous stage.
        case hold
    }

    /// The name of the stage, empty if it has none.
    package var name: String
    /// The duration, which may be zero.
    ///
    /// A ramp without a duration is a jump.
    package var duration: Duration
    package var shape: Shape

    package init(_ shape: Shape, for duration: Duration, name: String = "") {
        self.name = name
        self.duration = duration
        self.shape = shape
    }

    /// Returns the text form without the name, as parsed by ``Stages/init(parsing:)``.
    func text(_ unit: LoadUnit) -> String {
        let suffix = unit == .perSecond ? "/s" : ""
        let time = DurationText.write(self.duration)
        switch self.shape {
        case .ramp(let level): return "\(time):\(CountText.write(level))\(suffix)"
        case .at(let level): return "\(time):=\(CountText.write(level))\(suffix)"
        case .hold: return time
        }
    }
}

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
    /// Creates a stage; returns nil if the checker rejected the duration.
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
