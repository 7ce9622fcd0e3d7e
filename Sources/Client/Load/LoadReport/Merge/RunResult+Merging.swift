/// The reason why results cannot be merged.
package enum MergeError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Fewer than two results were given.
    case tooFew
    /// A setting of the plan differs, or the same part occurs twice.
    ///
    /// The associated value is the name of the setting.
    case differs(setting: String)
    /// The runs started too far apart, by this number of milliseconds.
    case apart(milliseconds: Int64)

    package var description: String {
        switch self {
        case .tooFew: "name at least two results"
        case .differs("part"): "two results have the same part, or one has none; run each part with its own --part"
        case .differs(let setting): "the results are not parts of one load: \(setting) differs"
        case .apart(let milliseconds):
            "the runs began \(NumberText.fixed(Double(milliseconds) / 1000, 1)) s apart; start them with the same "
                + "--start-at, on machines with synchronized clocks"
        }
    }
}

extension RunResult {
    /// The maximum time in milliseconds between the starts of runs considered simultaneous.
    private static let startTolerance: Int64 = 1000
    /// The plan entry that differs between the parts of one load.
    private static let partName = "part"

    /// Merges the results of runs that together generated one load, each a different part of it.
    ///
    /// Counts and histograms are added, so percentiles apply to all operations. Intervals are joined by position: the
    /// first intervals of all parts, then the second, and so on. The server's CPU time and memory come from the result
    /// that measured them. If several results did, the highest value is used, because they measured the same process.
    package static func merged(_ parts: [RunResult]) throws(MergeError) -> RunResult {
        guard let first = parts.first, parts.count > 1 else { throw .tooFew }
        try Self.checkPlans(parts)
        let starts = parts.map(\.setting.startMilliseconds)
        let (apart, overflow) = (starts.max() ?? 0).subtractingReportingOverflow(starts.min() ?? 0)
        guard !overflow else { throw .apart(milliseconds: .max) }
        guard apart <= Self.startTolerance else { throw .apart(milliseconds: apart) }
        var setting = first.setting
        setting.plan.removeAll { $0.name == Self.partName }
        setting.startMilliseconds = starts.min() ?? setting.startMilliseconds
        setting.serverBuild = parts.lazy.compactMap(\.setting.serverBuild).first
        setting.target = Self.distinct(parts.map(\.setting.target)).joined(separator: ", ")
        var result = RunResult(
            setting: setting,
            intervals: Self.joined(parts.map(\.intervals)),
            end: parts.map(\.end).max { $0.severity < $1.severity } ?? first.end,
            markers: parts.flatMap(\.markers).sorted { $0.at < $1.at },
            sections: parts.flatMap(\.sections),
            notes: ["merged from \(parts.count) runs, on \(Self.machines(of: parts))"]
                + Self.distinct(parts.flatMap(\.notes))
        )
        let thresholds = Self.distinct(parts.flatMap { $0.thresholds.map(\.text) })
        result.thresholds = thresholds.compactMap { try? Threshold(parsing: $0) }.map {
            ThresholdResult($0, of: result.totals)
        }
        return result
    }

    /// Throws unless the plans are equal and their parts differ.
    private static func checkPlans(_ parts: [RunResult]) throws(MergeError) {
        let plans = parts.map { Dictionary($0.setting.plan.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }) }
        let names = Set(plans.flatMap(\.keys)).sorted()
        for name in names where name != Self.partName && Set(plans.map { $0[name] }).count > 1 {
            throw .differs(setting: name)
        }
        let shares = plans.compactMap { $0[Self.partName] }
        guard shares.count == parts.count, Set(shares).count == parts.count else {
            throw .differs(setting: Self.partName)
        }
    }

    private static func machines(of parts: [RunResult]) -> String {
        Self.distinct(parts.map { "\($0.setting.machine.cpuModel) (\($0.setting.machine.cores) cores)" })
            .joined(separator: ", ")
    }

    /// Returns the strings without duplicates, in order of first occurrence.
    private static func distinct(_ texts: [String]) -> [String] {
        var seen: Set<String> = []
        return texts.filter { seen.insert($0).inserted }
    }

    /// Joins intervals of the same kind by position.
    private static func joined(_ runs: [[Interval]]) -> [Interval] {
        var joined: [Interval] = []
        let kinds: [(Interval) -> Bool] = [
            \.isWarmup, { !$0.isWarmup && !$0.isTail }, { !$0.isWarmup && $0.isTail },
        ]
        for isOfKind in kinds {
            let lists = runs.map { $0.filter(isOfKind) }
            for place in 0..<(lists.map(\.count).max() ?? 0) {
                let members = lists.filter { $0.count > place }.map { $0[place] }
                var interval = members[0]
                for member in members.dropFirst() { interval.join(member) }
                // The clocks of the parts differ by less than an interval. A part that ended early has a short last
                // interval, whose time would be too short for the measurements of the others.
                interval.start = max(interval.start, joined.last?.end ?? .zero)
                let end = members.map(\.end).max() ?? interval.end
                let longest = members.map { $0.end - $0.start }.max() ?? .zero
                interval.end = end > interval.start ? end : interval.start + longest
                joined.append(interval)
            }
        }
        return joined
    }
}

extension Interval {
    /// Adds the measurements of another run's interval, but not its times.
    fileprivate mutating func join(_ other: Interval) {
        for (operation, figures) in other.operations {
            self.operations[operation, default: OperationFigures()].add(figures)
        }
        self.unsent += other.unsent
        self.violations.add(other.violations)
        self.gauges.connections += other.gauges.connections
        self.gauges.inFlight += other.gauges.inFlight
        self.gauges.plannedRate = Self.combine(self.gauges.plannedRate, other.gauges.plannedRate, +)
        self.gauges.toolCPUSeconds = Self.combine(self.gauges.toolCPUSeconds, other.gauges.toolCPUSeconds, +)
        self.gauges.serverCPUSeconds = Self.combine(self.gauges.serverCPUSeconds, other.gauges.serverCPUSeconds, max)
        self.gauges.serverResidentBytes = Self.combine(
            self.gauges.serverResidentBytes,
            other.gauges.serverResidentBytes,
            max
        )
        self.gauges.verificationMicroseconds = Self.combine(
            self.gauges.verificationMicroseconds,
            other.gauges.verificationMicroseconds,
            max
        )
    }

    /// Combines two values.
    ///
    /// If only one is known, returns that one.
    private static func combine<Value>(_ left: Value?, _ right: Value?, _ body: (Value, Value) -> Value) -> Value? {
        guard let left, let right else { return left ?? right }
        return body(left, right)
    }
}

extension RunEnd {
    /// The severity of the way a run ended.
    ///
    /// A merged run has the most severe end of its parts.
    fileprivate var severity: Int {
        switch self {
        case .completed: 0
        case .interrupted: 1
        case .aborted: 2
        case .lost: 3
        }
    }
}
