/// A comparison of an earlier run with a later one.
package struct Comparison: Sendable {
    /// A metric of both runs.
    struct Row: Sendable, Equatable {
        /// The name, as used in thresholds.
        let name: String
        /// The values in the metric's unit: µs, per second, a fraction of 1, bytes or a count.
        let before: Double?
        let after: Double?
        let metric: Metric
        let isShare: Bool
        /// The difference that chance could explain, in the same unit, or nil if the runs are too short to tell.
        let noise: Double?

        /// The later value divided by the earlier one, or nil if one of them is missing or the earlier one is zero.
        var ratio: Double? {
            guard let before, let after, before != 0 else { return nil }
            return after / before
        }

        var finding: Finding {
            guard let before, let after else { return .incomparable }
            if before == after { return .same }
            guard let noise else { return .unknown }
            if (after - before).magnitude <= noise { return .withinNoise }
            guard let lessIsBetter = self.metric.traits.lessIsBetter else { return .different }
            return (after < before) == lessIsBetter ? .better : .worse
        }
    }

    /// The interpretation of a difference.
    enum Finding: String, Sendable {
        case same
        case withinNoise = "within noise"
        case better
        case worse = "WORSE"
        /// The difference exceeds the noise, but for this metric neither direction is better.
        case different
        /// The runs are too short to determine the noise.
        case unknown = "too short"
        /// Only one of the runs has the metric.
        case incomparable = "only in one"
    }

    /// A setting that differs between the two runs.
    struct Difference: Sendable, Equatable {
        let name: String
        let before: String?
        let after: String?
    }

    /// The runs that failed or did not complete their plan, with the reasons.
    let concerns: [String]
    /// The differences in settings, ends and measured times.
    let differences: [Difference]
    let rows: [Row]
    private let before: Side
    private let after: Side

    private struct Side: Sendable {
        let totals: Totals
        let noise: Noise

        init(_ result: RunResult) {
            self.totals = result.totals
            self.noise = Noise(of: result.measuredIntervals.filter { !$0.isTail })
        }
    }

    package init(_ before: RunResult, _ after: RunResult) {
        let sides = (before: Side(before), after: Side(after))
        self.concerns = [("before", before), ("after", after)].compactMap { name, result in
            result.concern.map { "\(name): \($0)" }
        }
        self.differences = Self.differences(before.settings, after.settings)
        self.rows = Self.metrics(of: before, after).map { name, metric, isShare in
            Self.row(name, metric, isShare, sides.before, sides.after)
        }
        (self.before, self.after) = sides
    }

    /// Returns the row for any metric, even one that is not in ``rows``.
    func row(_ name: String, _ metric: Metric) -> Row {
        // If the runs differ in length, counts can only be compared as fractions.
        self.rows.first { $0.name == name } ?? Self.row(name, metric, metric.traits.canBeShare, self.before, self.after)
    }

    private static func row(_ name: String, _ metric: Metric, _ isShare: Bool, _ before: Side, _ after: Side) -> Row {
        var noise: Double?
        if let first = before.noise.halfRange(of: metric, asShare: isShare),
            let second = after.noise.halfRange(of: metric, asShare: isShare)
        {
            noise = (first * first + second * second).squareRoot()
        }
        return Row(
            name: name,
            before: metric.value(of: before.totals, asShare: isShare),
            after: metric.value(of: after.totals, asShare: isShare),
            metric: metric,
            isShare: isShare,
            noise: noise
        )
    }

    private static func differences(
        _ before: [(name: String, value: String)],
        _ after: [(name: String, value: String)]
    ) -> [Difference] {
        let first = Dictionary(before.map { ($0.name, $0.value) }, uniquingKeysWith: { $0 + ", " + $1 })
        let second = Dictionary(after.map { ($0.name, $0.value) }, uniquingKeysWith: { $0 + ", " + $1 })
        var names: [String] = []
        for (name, _) in before + after where !names.contains(name) { names.append(name) }
        // Ignore the command, because it contains file names and its other options are part of the plan.
        return names.filter { $0 != "command" && first[$0] != second[$0] }.map {
            Difference(name: $0, before: first[$0], after: second[$0])
        }
    }

    /// The metrics across all operations, followed by those of each operation if the runs have several.
    private static func metrics(of before: RunResult, _ after: RunResult) -> [(String, Metric, Bool)] {
        let operations = Set(before.totals.operations.keys).union(after.totals.operations.keys).sorted()
        let whole: [(String, Metric.Kind, Bool)] = [
            ("unexpected", .unexpected, true), ("violations", .violations, false), ("unsent", .unsent, true),
            ("server-cpu", .serverCPU, false), ("server-memory", .serverMemory, false),
        ]
        return Self.metrics(of: nil) + whole.map { ($0, Metric(operation: nil, kind: $1), $2) }
            + (operations.count > 1 ? operations.flatMap(Self.metrics) : [])
    }

    private static func metrics(of operation: Operation?) -> [(String, Metric, Bool)] {
        let prefix = operation.map { $0.rawValue + "." } ?? ""
        let kinds: [(String, Metric.Kind)] = [
            ("rate", .rate), ("p50", .latency(.percentile(50))), ("p90", .latency(.percentile(90))),
            ("p99", .latency(.percentile(99))), ("p99.9", .latency(.percentile(99.9))), ("max", .latency(.max)),
            ("mean", .latency(.mean)), ("service.p50", .serviceTime(.percentile(50))),
            ("service.p99", .serviceTime(.percentile(99))), ("errors", .errors),
        ]
        return kinds.map { (prefix + $0, Metric(operation: operation, kind: $1), $1 == .errors) }
    }
}

extension RunResult {
    /// The reason the measurements might not represent the plan, or nil if the run completed and passed.
    fileprivate var concern: String? {
        let parts =
            (self.end == .completed ? [] : [self.end.text])
            + (self.isSuccess ? [] : ["FAILED: " + self.failures.joined(separator: ", ")])
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    fileprivate var settings: [(name: String, value: String)] {
        self.setting.rows + [
            ("end", self.end.text), ("measured", "\(NumberText.fixed(self.totals.duration.inSeconds, 1)) s"),
        ]
    }
}

extension Comparison {
    /// The comparison as terminal text, with the result of each limit.
    package func text(limits: [ChangeLimit] = []) -> String {
        var lines = self.concerns.map { "CAUTION  \($0)" }
        lines.append(self.differences.isEmpty ? "the settings are the same" : "the settings differ")
        for difference in self.differences {
            lines.append("  \(difference.name)")
            lines.append("    before  \(difference.before ?? "–")")
            lines.append("    after   \(difference.after ?? "–")")
        }
        var table = ReportTable("", columns: ["metric", "before", "after", "ratio", "noise", "finding"])
        for row in self.rows where row.before != nil || row.after != nil {
            table.add(ReportTable.Cell(row.name), row.cells)
        }
        lines += [""] + table.lines.map { "  \($0)" }
        lines += ["", "noise: three standard errors of both runs, from the variation within each run"]
        return (lines + limits.map(self.sentence)).joined(separator: "\n") + "\n"
    }

    private func sentence(_ limit: ChangeLimit) -> String {
        switch limit.isExceeded(in: self) {
        case true?:
            // A change within the noise fails too, because noisy runs prove nothing either way.
            "FAILED  \(limit.text)"
                + (self.row(limit.name, limit.metric).finding == .withinNoise ? "; the change is within the noise" : "")
        case false?: "passed  \(limit.text)"
        case nil: "FAILED  \(limit.text): not measured in one of the runs"
        }
    }
}

extension Comparison.Row {
    fileprivate var cells: [String] {
        [
            self.before.map { self.metric.text($0, asShare: self.isShare) } ?? "–",
            self.after.map { self.metric.text($0, asShare: self.isShare) } ?? "–",
            self.ratio.map { "×\(NumberText.fixed($0, 3))" } ?? "–", self.noiseText, self.finding.rawValue,
        ]
    }

    /// The noise relative to the earlier value.
    private var noiseText: String {
        guard let noise, let before, self.after != nil else { return "–" }
        guard before != 0 else { return noise == 0 ? "none" : "±\(self.metric.text(noise, asShare: self.isShare))" }
        return "±\(NumberText.fixed(noise / before * 100, 1))%"
    }
}

/// A limit on how much a metric may change between two runs.
///
/// `p99>+10%` fails if the metric increased by more than that, `rate<-5%` if it decreased by more.
package struct ChangeLimit: Sendable, Equatable {
    /// The limit as written, without spaces.
    let text: String
    let name: String
    let metric: Metric
    let isGrowth: Bool
    /// The limit as a fraction of the first run's value; negative for a decrease.
    let limit: Double

    /// Returns whether the change exceeds the limit, or nil if a run does not have the metric.
    ///
    /// Any increase from zero exceeds every limit.
    package func isExceeded(in comparison: Comparison) -> Bool? {
        let row = comparison.row(self.name, self.metric)
        guard let before = row.before, let after = row.after else { return nil }
        guard before != 0 else { return self.isGrowth && after > 0 }
        let bound = before * (1 + self.limit)
        // Going from 100 to 110 is 10%, even though 110 / 100 is not exactly 1.1 in binary.
        let slack = bound.magnitude * 1e-9
        return self.isGrowth ? after > bound + slack : after < bound - slack
    }
}

extension ChangeLimit {
    /// Parses a limit such as `p99>+10%`.
    ///
    /// Spaces are ignored.
    package init(parsing text: String) throws(ChangeLimitError) {
        let text = String(text.filter { !$0.isWhitespace })
        guard let place = text.firstIndex(where: { "<>=!".contains($0) }) else { throw .noRelation(text) }
        let name = String(text[..<place])
        let limit = text[place...].dropFirst()
        do throws(ThresholdError) { self.metric = try Metric(parsing: name) } catch { throw .metric(error) }
        let sign = limit.first.map(String.init) ?? ""
        guard text[place] == ">" || text[place] == "<", sign == "+" || sign == "-", limit.hasSuffix("%"),
            let percent = DecimalText.read(limit.dropFirst().dropLast())
        else { throw .wrongLimit(String(text[place...]), name: name) }
        self.text = text
        self.name = name
        self.isGrowth = text[place] == ">"
        self.limit = (sign == "+" ? percent : -percent) / 100
    }
}

/// An error in a ``ChangeLimit`` on the command line.
package enum ChangeLimitError: Error, Equatable, Sendable, CustomStringConvertible {
    case noRelation(String)
    /// The name does not refer to a metric.
    case metric(ThresholdError)
    case wrongLimit(String, name: String)

    package var description: String {
        switch self {
        case .noRelation(let text):
            "'\(text)' has no comparison; write a metric, < or >, and a signed percentage, as in p99>+10%"
        case .metric(let error): error.description
        case .wrongLimit(let limit, let name):
            "'\(limit)' is not a change of \(name); write a signed percentage, as in \(name)>+10% or \(name)<-5%"
        }
    }
}

/// The variation of a metric within one run.
///
/// The measured intervals are divided into at most ten batches, and the metric is computed for each batch. The spread
/// of the batches yields an estimate of the standard error of the whole run's value. Two equal servers differ by more
/// than three standard errors in fewer than one in a hundred comparisons. Each batch consists of consecutive intervals.
/// Because consecutive seconds are correlated, single intervals would understate the error.
struct Noise: Sendable {
    private static let batchLimit = 10
    private static let minimumBatches = 4
    private static let standardErrors = 3.0

    private let batches: [Totals]

    init(of intervals: [Interval]) {
        let count = min(Self.batchLimit, intervals.count)
        self.batches = (0..<count).map { place in
            Totals(of: intervals[(intervals.count * place / count)..<(intervals.count * (place + 1) / count)])
        }
    }

    /// Three standard errors of the run's value, in the metric's unit.
    ///
    /// Nil if the run has too few intervals, or if a batch lacks the metric.
    func halfRange(of metric: Metric, asShare isShare: Bool) -> Double? {
        // A correct server never causes violations, so they are never due to chance.
        if metric.kind == .violations { return 0 }
        let values = self.batches.compactMap { metric.value(of: $0, asShare: isShare) }
        guard values.count == self.batches.count, values.count >= Self.minimumBatches else { return nil }
        let count = Double(values.count)
        let mean = values.reduce(0, +) / count
        let deviation = (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / (count - 1)).squareRoot()
        return Self.standardErrors * deviation * self.weight(of: metric, isShare)
    }

    /// The standard error of the run's value relative to the standard deviation of the batches.
    private func weight(of metric: Metric, _ isShare: Bool) -> Double {
        let count = Double(self.batches.count)
        if isShare { return 1 / count.squareRoot() }
        return switch metric.kind {
        // The run's value is close to the mean over the batches.
        case .latency(.percentile), .latency(.mean), .serviceTime(.percentile), .serviceTime(.mean), .rate, .serverCPU:
            1 / count.squareRoot()
        // The run's value is the sum over the batches.
        case .count, .errors, .unexpected, .unsent, .outcome, .violations: count.squareRoot()
        // The run's value comes from a single batch.
        case .latency(.min), .latency(.max), .serviceTime(.min), .serviceTime(.max), .serverMemory: 1
        }
    }
}
