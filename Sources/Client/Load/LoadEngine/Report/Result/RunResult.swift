internal import ConfigText
internal import FoundationEssentials

package struct RunResult: Sendable, Equatable {
    var setting: RunSetting
    /// The intervals in chronological order, including the warm-up.
    var intervals: [Interval] { didSet { self.totals = Totals(of: self.intervals) } }
    /// The sums over ``intervals``.
    private(set) var totals: Totals
    var thresholds: [ThresholdResult]
    var end: RunEnd
    var markers: [Marker]
    var sections: [ReportSection]
    /// Facts that limit the validity of the measurements, for example a CPU shortage.
    var notes: [String]

    package init(
        setting: RunSetting,
        intervals: [Interval],
        thresholds: [Threshold] = [],
        end: RunEnd,
        markers: [Marker] = [],
        sections: [ReportSection] = [],
        notes: [String] = []
    ) {
        let totals = Totals(of: intervals)
        self.setting = setting
        self.intervals = intervals
        self.totals = totals
        self.thresholds = thresholds.map { ThresholdResult($0, of: totals) }
        self.end = end
        self.markers = markers
        self.sections = sections
        self.notes = notes
    }

    var measuredIntervals: [Interval] { self.intervals.filter { !$0.isWarmup } }

    var isSuccess: Bool { self.failures.isEmpty }

    /// The exit code of `pin-load run`.
    package var exitCode: Int32 {
        if !self.isSuccess { return 99 }
        return self.end == .interrupted ? 130 : 0
    }
}

/// The way a run ended, from the least severe to the most severe.
package enum RunEnd: String, Sendable, Equatable, Codable, CaseIterable {
    case completed
    /// A user interrupted the run.
    ///
    /// The report covers the time until then.
    case interrupted
    case aborted, lost
}

/// An event during a run, drawn as a vertical line in the plots.
package struct Marker: Sendable, Equatable, Codable {
    private let atMicros: Int64
    let text: String

    /// - Parameter at: The time since the start of the run.
    init(at: Duration, _ text: String) {
        self.atMicros = at.inMicroseconds
        self.text = text
    }

    /// The time since the start of the run.
    var at: Duration { .microseconds(self.atMicros) }
}

extension RunResult {
    /// The reasons the run failed, most severe first; empty if it passed.
    var failures: [String] {
        var failures: [String] = []
        let violations = self.totals.violations.count
        if violations > 0 { failures.append("\(NumberText.count(violations)) violation\(violations == 1 ? "" : "s")") }
        let missed = self.thresholds.count { $0.verdict != .met }
        if missed > 0 { failures.append("\(missed) of \(self.thresholds.count) thresholds not met") }
        if self.end == .aborted, missed == 0 {
            failures.append("aborted by a threshold that was met again at the end")
        }
        if self.end == .lost { failures.append("the server stopped answering") }
        failures += self.sections.filter { $0.verdict == .failed }.map(\.title)
        return failures
    }

    /// Whether latency differs from service time, as it does in an open loop and in an attack, which sends all guesses
    /// at once.
    ///
    /// A closed loop sends each operation after the previous answer, so the two are the same.
    var hasDueTimes: Bool {
        self.intervals.contains { $0.gauges.plannedRate != nil }
            || self.totals.operations.values.contains { $0.latency != $0.serviceTime }
    }

    /// The event that ``OperationFigures/latency`` is measured from.
    var latencyOrigin: String { self.hasDueTimes ? "from the due time" : "from sending" }

    /// The notes, preceded by warnings if a closed loop hid a stall or had too little work.
    var remarks: [String] { [self.stall, self.waiting].compactMap(\.self) + self.notes }

    /// A warning about coordinated omission.
    ///
    /// A closed loop sends nothing during a stall, so few of its times show the stall.
    private var stall: String? {
        guard !self.hasDueTimes else { return nil }
        let stalled = self.measuredIntervals.filter {
            !$0.isTail && $0.gauges.inFlight > 0 && $0.totals.answered == 0
        }
        guard !stalled.isEmpty else { return nil }
        let seconds = stalled.reduce(0.0) { $0 + ($1.end - $1.start).inSeconds }
        return "no answer arrived for \(NumberText.fixed(seconds, 1)) s with operations in flight; a closed loop hides "
            + "such a stall (coordinated omission); use --rate to measure it"
    }

    /// A process that uses less than this fraction of a core counts as idle.
    private static let idleShare = 0.5

    /// A note if both processes were mostly idle in a closed loop, in which case its rate is not the server's limit.
    private var waiting: String? {
        let (totals, seconds) = (self.totals, self.totals.duration.inSeconds)
        guard !self.hasDueTimes, self.end != .lost, seconds > 0, totals.answered > 0,
            let server = totals.serverCores, server < Self.idleShare,
            let tool = totals.toolCores, tool < Self.idleShare
        else { return nil }
        let all = totals.figures().serviceTime
        // Little's law: the number of calls in flight is their rate times their duration. The last calls end after the
        // measured time, which can make it too high.
        let connections = Double(totals.peakConnections)
        let inFlight = min(connections, (all.mean ?? 0) * Double(all.count) / (seconds * 1_000_000))
        let reason =
            inFlight >= Self.idleShare * connections
            ? "the connections waited for answers, which waited for the disk or the network"
            : "the connections paused between operations (--think, new connections, blocked wallets)"
        return "limited by waiting, not by work: the server used \(NumberText.percent(server)) of a core, pin-load "
            + "\(NumberText.percent(tool)); on average \(NumberText.fixed(inFlight, 1)) of "
            + "\(NumberText.count(totals.peakConnections)) connections had a call in flight. Reason: \(reason). "
            + "More connections show the highest rate, --rate the times at a given one"
    }

    /// The end of the run, with the measured time and the target.
    var headline: String {
        let warmup = self.intervals.filter(\.isWarmup).reduce(0.0) { $0 + ($1.end - $1.start).inSeconds }
        let before = warmup > 0 ? " after \(NumberText.fixed(warmup, 1)) s of warm-up" : ""
        let measured = "\(NumberText.fixed(self.totals.duration.inSeconds, 1)) s measured"
        return "\(self.end.text) · \(measured)\(before) · \(self.setting.target)"
    }
}

extension RunEnd {
    var text: String {
        switch self {
        case .completed: "completed"
        case .interrupted: "interrupted"
        case .aborted: "aborted by a threshold"
        case .lost: "server lost"
        }
    }
}

extension RunResult {
    /// The version of the JSON format.
    ///
    /// Readers accept no other version.
    static let schemaVersion = 2

    /// The JSON described by docs/load-result.schema.json, with a newline at the end.
    var jsonText: String { JSONText.encoded(self) + "\n" }

    package init(json: [UInt8]) throws(RunResultError) {
        let data = Data(json)
        let decoder = JSONDecoder()
        guard let version = try? decoder.decode(Version.self, from: data).v else { throw .notAResult }
        guard version == Self.schemaVersion else { throw .otherVersion(version) }
        do {
            self = try decoder.decode(Self.self, from: data)
        } catch let error as DecodingError {
            throw .malformed(field: Self.field(of: error))
        } catch { throw .notAResult }
    }

    private struct Version: Decodable {
        let v: Int
    }

    private static func field(of error: DecodingError) -> String {
        let path: [any CodingKey] =
            switch error {
            case .keyNotFound(let key, let context): context.codingPath + [key]
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            @unknown default: []
            }
        return path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }
}

/// The reason why a file is not a valid result.
///
/// The caller adds the file name.
package enum RunResultError: Error, Equatable, Sendable, CustomStringConvertible {
    case notAResult
    case otherVersion(Int)
    /// A field is missing or invalid.
    ///
    /// The name is empty if Foundation does not report it.
    case malformed(field: String)

    package var description: String {
        switch self {
        case .notAResult: "not the JSON of 'pin-load run'"
        case .otherVersion(let version):
            "schema version \(version) is not supported, only \(RunResult.schemaVersion); "
                + "use the pin-load that wrote the file"
        case .malformed(""): "a value is invalid"
        case .malformed(let field): "the field \(field) is missing or invalid"
        }
    }
}

extension RunResult: Codable {
    private enum Key: String, CodingKey {
        case v, setting, intervals, totals, thresholds, end, markers, sections, notes, passed
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(Self.schemaVersion, forKey: .v)
        try fields.encode(self.setting, forKey: .setting)
        try fields.encode(self.intervals, forKey: .intervals)
        try fields.encode(self.totals, forKey: .totals)
        try fields.encode(self.thresholds, forKey: .thresholds)
        try fields.encode(self.end, forKey: .end)
        try fields.encode(self.markers, forKey: .markers)
        try fields.encode(self.sections, forKey: .sections)
        try fields.encode(self.notes, forKey: .notes)
        try fields.encode(self.isSuccess, forKey: .passed)
    }

    /// Decodes the intervals and computes the sums from them.
    ///
    /// The sums in the file are meant for other programs.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let setting = try fields.decode(RunSetting.self, forKey: .setting)
        let intervals = try fields.decode([Interval].self, forKey: .intervals)
        guard Interval.canBeSummed(intervals) else {
            throw DecodingError.dataCorruptedError(forKey: .intervals, in: fields, debugDescription: "out of range")
        }
        self.init(
            setting: setting,
            intervals: intervals,
            end: try fields.decode(RunEnd.self, forKey: .end),
            markers: try fields.decode([Marker].self, forKey: .markers),
            sections: try fields.decode([ReportSection].self, forKey: .sections),
            notes: try fields.decode([String].self, forKey: .notes)
        )
        self.thresholds = try fields.decode([ThresholdResult].self, forKey: .thresholds)
    }
}

extension Totals: Encodable {
    private enum Key: String, CodingKey {
        case durationMicros, operations, count, answered, failures, unexpected, unsent, violations, ratePerSecond
        case serverCPUSeconds, serverCPUMicrosPerOperation, serverPeakResidentBytes, toolCPUSeconds, peakConnections
        case verificationMicros, verificationShare
    }

    package func encode(to encoder: any Encoder) throws {
        let all = self.figures()
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(self.duration.inMicroseconds, forKey: .durationMicros)
        try fields.encode(self.operations, forKey: .operations)
        try fields.encode(all.count, forKey: .count)
        try fields.encode(all.answered, forKey: .answered)
        try fields.encode(all.failures, forKey: .failures)
        try fields.encode(all.unexpected, forKey: .unexpected)
        try fields.encode(self.unsent, forKey: .unsent)
        try fields.encode(self.violations, forKey: .violations)
        try fields.encodeIfPresent(self.rate, forKey: .ratePerSecond)
        try fields.encodeIfPresent(self.serverCPUSeconds, forKey: .serverCPUSeconds)
        try fields.encodeIfPresent(self.serverCPUMicrosecondsPerOperation, forKey: .serverCPUMicrosPerOperation)
        try fields.encodeIfPresent(self.serverPeakResidentBytes, forKey: .serverPeakResidentBytes)
        try fields.encodeIfPresent(self.toolCPUSeconds, forKey: .toolCPUSeconds)
        try fields.encodeIfPresent(self.verificationMicroseconds, forKey: .verificationMicros)
        try fields.encodeIfPresent(self.verificationShare, forKey: .verificationShare)
        try fields.encode(self.peakConnections, forKey: .peakConnections)
    }
}

/// Limits on the numbers in a file, so that their sums cannot overflow.
extension Interval {
    /// A count that no run can reach in one interval.
    static let countLimit = 10_000_000_000
    /// One hundred years.
    private static let timeLimit: Duration = .seconds(3_155_760_000)
    private static let gaugeRange = -1e15...1e15

    /// Returns whether the intervals are in order and every number in them is within the limits.
    static func canBeSummed(_ intervals: [Interval]) -> Bool {
        var end = Duration.zero
        for interval in intervals {
            guard interval.start >= end, interval.end >= interval.start, interval.end <= Self.timeLimit,
                interval.isWithinLimits
            else { return false }
            end = interval.end
        }
        return true
    }

    private var isWithinLimits: Bool {
        let counts =
            [self.unsent, self.violations.count]
            + self.operations.values.flatMap {
                $0.outcomes.values + [$0.unexpected, $0.latency.count, $0.serviceTime.count]
            }
        let gauges: [Double?] = [
            Double(self.gauges.connections), Double(self.gauges.inFlight), self.gauges.plannedRate,
            self.gauges.serverCPUSeconds, self.gauges.serverResidentBytes.map(Double.init),
            self.gauges.toolCPUSeconds, self.gauges.verificationMicroseconds,
        ]
        return counts.allSatisfy((0...Self.countLimit).contains)
            && gauges.compactMap(\.self).allSatisfy(Self.gaugeRange.contains)
    }
}

/// The reason why results cannot be merged.
package enum MergeError: Error, Equatable, Sendable, CustomStringConvertible {
    case tooFew
    /// A setting of the plan differs, or the same part occurs twice.
    ///
    /// The associated value is the name of the setting.
    case differs(setting: String)
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
            end: RunEnd.allCases.last { end in parts.contains { $0.end == end } } ?? first.end,
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
