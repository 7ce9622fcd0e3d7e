/// A comparison of an earlier run with a later one.
package struct Comparison: Sendable {
    /// A metric of both runs.
    package struct Row: Sendable, Equatable {
        /// The name, as used in thresholds.
        package let name: String
        /// The values in the metric's unit: µs, per second, a fraction of 1, bytes or a count.
        package let before: Double?
        package let after: Double?
        let metric: Metric
        let isShare: Bool
        /// The difference that chance could explain, in the same unit, or nil if the runs are too short to tell.
        package let noise: Double?

        /// The later value divided by the earlier one, or nil if one of them is missing or the earlier one is zero.
        package var ratio: Double? {
            guard let before, let after, before != 0 else { return nil }
            return after / before
        }

        package var finding: Finding {
            guard let before, let after else { return .incomparable }
            if before == after { return .same }
            guard let noise else { return .unknown }
            if (after - before).magnitude <= noise { return .withinNoise }
            guard let lessIsBetter = self.metric.lessIsBetter else { return .different }
            return (after < before) == lessIsBetter ? .better : .worse
        }
    }

    /// The interpretation of a difference.
    package enum Finding: String, Sendable {
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
    package struct Difference: Sendable, Equatable {
        package let name: String
        package let before: String?
        package let after: String?
    }

    /// The runs that failed or did not complete their plan, with the reasons.
    package let concerns: [String]
    /// The differences in settings, ends and measured times.
    package let differences: [Difference]
    package let rows: [Row]
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
        self.rows.first { $0.name == name } ?? Self.row(name, metric, metric.canBeShare, self.before, self.after)
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
