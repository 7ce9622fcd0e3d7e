/// Two runs held against each other: the first is what was, the second what is.
package struct Comparison: Sendable {
    /// One figure of both runs.
    package struct Row: Sendable, Equatable {
        /// As in a threshold.
        package let name: String
        /// In the figure's unit: µs, per second, a share of 1, bytes, a count.
        package let before: Double?
        package let after: Double?
        let metric: Metric
        let isShare: Bool
        /// By how much the two may differ by chance, in the unit; nil where the runs are too short to tell.
        package let noise: Double?

        /// After by before; nil where one is missing or the first is nothing.
        package var ratio: Double? {
            guard let before, let after, before != 0 else { return nil }
            return after / before
        }

        /// What is to be made of the difference.
        package var finding: Finding {
            guard let before, let after else { return .incomparable }
            if before == after { return .same }
            guard let noise else { return .unknown }
            if (after - before).magnitude <= noise { return .withinNoise }
            guard let lessIsBetter = self.metric.lessIsBetter else { return .different }
            return (after < before) == lessIsBetter ? .better : .worse
        }
    }

    /// What is to be made of a difference.
    package enum Finding: String, Sendable, Codable {
        case same
        /// Not more than the figure moves within each run.
        case withinNoise = "within-noise"
        case better
        case worse
        /// More than noise, of a figure that is neither good nor bad.
        case different
        /// The runs are too short to know their noise.
        case unknown
        /// One of the runs does not have the figure.
        case incomparable
    }

    /// A choice or a circumstance in which the runs differ.
    package struct Difference: Sendable, Equatable, Codable {
        package let name: String
        package let before: String?
        package let after: String?
    }

    /// What speaks against a comparison: which of the runs did not come to its plan's end, or failed, and in what.
    package let concerns: [String]
    /// Where the settings, the ends or the measured times are not the same.
    package let differences: [Difference]
    package let rows: [Row]
    private let before: Side
    private let after: Side

    /// What is needed of a run.
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
        self.differences = Self.differences(before.choices, after.choices)
        self.rows = Self.metrics(of: before, after).map { name, metric, isShare in
            Self.row(name, metric, isShare, sides.before, sides.after)
        }
        (self.before, self.after) = sides
    }

    /// The row of a figure that need not be in ``rows``.
    func row(_ name: String, _ metric: Metric) -> Row {
        // Of runs that took differently long only shares can be compared.
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
        // The command names files; what it asks for is in the plan.
        return names.filter { $0 != "command" && first[$0] != second[$0] }.map {
            Difference(name: $0, before: first[$0], after: second[$0])
        }
    }

    /// The rate, times, errors and the server's cost of all operations, then of each kind where there are several.
    private static func metrics(of before: RunResult, _ after: RunResult) -> [(String, Metric, Bool)] {
        let operations = Set(before.totals.operations.keys).union(after.totals.operations.keys).sorted()
        let whole: [(String, Metric, Bool)] = [
            ("unexpected", Metric(operation: nil, kind: .unexpected), true),
            ("violations", Metric(operation: nil, kind: .violations), false),
            ("unsent", Metric(operation: nil, kind: .unsent), true),
            ("server-cpu", Metric(operation: nil, kind: .serverCPU), false),
            ("server-memory", Metric(operation: nil, kind: .serverMemory), false),
        ]
        return Self.metrics(of: nil) + whole + (operations.count > 1 ? operations.flatMap(Self.metrics) : [])
    }

    private static func metrics(of operation: Operation?) -> [(String, Metric, Bool)] {
        let prefix = operation.map { $0.rawValue + "." } ?? ""
        let percentiles = Distribution.percents.map { ($0.name, Metric.Kind.latency(.percentile($0.percent))) }
        let kinds: [(String, Metric.Kind)] =
            [("rate", .rate)] + percentiles + [
                ("max", .latency(.max)), ("mean", .latency(.mean)), ("service.p50", .serviceTime(.percentile(50))),
                ("service.p99", .serviceTime(.percentile(99))), ("errors", .errors),
            ]
        return kinds.map { (prefix + $0, Metric(operation: operation, kind: $1), $1 == .errors) }
    }
}

extension RunResult {
    /// Why its figures may not be those of what was asked for; nil where it came to its end and passed.
    fileprivate var concern: String? {
        let failures = self.failures
        let parts =
            (self.end == .completed ? [] : [self.end.text])
            + (failures.isEmpty ? [] : ["FAILED: " + failures.joined(separator: ", ")])
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    /// What it was, how it ended and how much of it was measured.
    fileprivate var choices: [(name: String, value: String)] {
        self.setting.rows + [
            ("end", self.end.text), ("measured", "\(Figure.fixed(self.totals.duration.inSeconds, 1)) s"),
        ]
    }
}

extension Metric {
    /// Nil for a figure that is neither good nor bad.
    var lessIsBetter: Bool? {
        switch self.kind {
        case .latency, .serviceTime, .errors, .unexpected, .violations, .unsent, .serverCPU, .serverMemory: true
        case .rate: false
        case .count, .outcome: nil
        }
    }
}
