/// The percentiles of every table that people read.
enum Distribution {
    static let percents: [(name: String, percent: Double)] = [
        ("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9),
    ]

    /// The heads of ``values(_:)``.
    static let columns = Self.percents.map(\.name) + ["max", "mean"]

    static func values(_ latencies: Latencies) -> [String] {
        latencies.percentiles(Self.percents.map(\.percent)).map(Figure.time)
            + [Figure.time(latencies.max), latencies.mean.map { Figure.time(microseconds: $0) } ?? "–"]
    }
}

extension Totals {
    /// Those that happened, in the order of every report.
    var sortedOperations: [(operation: Operation, figures: OperationFigures)] {
        self.operations.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Every outcome that happened, in the order of every report.
    var sortedOutcomes: [Outcome] {
        self.operations.values.reduce(into: Set<Outcome>()) { $0.formUnion($1.outcomes.keys) }.sorted()
    }

    /// The server's cost in words; nil where nothing is known.
    var serverText: String? {
        let parts = [
            self.serverCPUMicrosecondsPerOperation.map { "\(Figure.time(microseconds: $0)) of CPU per operation" },
            self.verificationText,
            self.serverCPUShare.map { "\(Figure.fixed($0, 2)) cores busy" },
            self.serverPeakResidentBytes.map { "at most \(Figure.bytes(Double($0))) of memory" },
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// The yardstick of the cost.
    private var verificationText: String? {
        guard let cost = self.verificationMicroseconds, let share = self.verificationShare else { return nil }
        return
            "one P-256 verification by itself (\(Figure.time(microseconds: cost))) is \(Figure.fixed(share, 2)) of that"
    }

    /// Cores that the server kept busy.
    private var serverCPUShare: Double? {
        guard let seconds = self.serverCPUSeconds, self.duration > .zero else { return nil }
        return seconds / self.duration.inSeconds
    }

    /// The tool's cost in words: it shares the machine with the server.
    var toolText: String? {
        guard let seconds = self.toolCPUSeconds, self.count > 0, self.duration > .zero else { return nil }
        let each = Figure.time(microseconds: seconds * 1_000_000 / Double(self.count))
        return "\(each) of CPU per operation, \(Figure.fixed(seconds / self.duration.inSeconds, 2)) cores busy"
    }
}

extension RunEnd {
    /// As people read it.
    var text: String {
        switch self {
        case .completed: "completed"
        case .interrupted: "interrupted"
        case .aborted: "ended by a threshold"
        case .lost: "ended: the server was lost"
        }
    }
}

extension ThresholdResult.Verdict {
    /// As people read it, without relying on color.
    var text: String {
        switch self {
        case .met: "met"
        case .failed: "FAILED"
        case .unmeasured: "NOT MEASURED"
        }
    }
}

extension ReportSection.Verdict {
    /// Nothing where there was nothing to hold.
    var text: String? {
        switch self {
        case .passed: "passed"
        case .failed: "FAILED"
        case .neutral: nil
        }
    }
}

extension RunResult {
    /// How long the warm-up was; nil without one.
    var warmup: Duration? {
        let warmup = self.intervals.filter(\.isWarmup).reduce(.zero) { $0 + ($1.end - $1.start) }
        return warmup > .zero ? warmup : nil
    }

    /// Why a run failed, in the order of weight; empty where it did not.
    var failures: [String] {
        var failures: [String] = []
        let violations = self.totals.violations.count
        if violations > 0 { failures.append("\(Figure.count(violations)) impossible answers") }
        let lost = self.thresholds.count { $0.verdict != .met }
        if lost > 0 { failures.append("\(lost) of \(self.thresholds.count) thresholds not met") }
        if self.end == .aborted, lost == 0 { failures.append("ended by a threshold that held again at the end") }
        if self.end == .lost { failures.append("the server was lost") }
        failures += self.sections.filter { $0.verdict == .failed }.map(\.title)
        return failures
    }
}
