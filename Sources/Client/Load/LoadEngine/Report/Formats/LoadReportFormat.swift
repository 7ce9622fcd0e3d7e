package enum LoadReportFormat: String, Sendable, CaseIterable {
    /// A summary for a terminal.
    case text
    /// All measurements.
    ///
    /// `report` and `compare` read this format.
    case json
    /// One row per interval.
    case csv
    /// A single page with plots.
    case html
}

extension RunResult {
    /// Returns the report, with a newline at the end.
    package func text(as format: LoadReportFormat) -> String {
        switch format {
        case .text: self.summaryText
        case .json: self.jsonText
        case .csv: IntervalTable.text(self)
        case .html: LoadReportPage(self).html
        }
    }
}

extension RunResult {
    var summaryText: String {
        let all = self.totals.figures()
        let rate = self.totals.rate.map { NumberText.rate($0) + ": " } ?? ""
        let head = [
            self.headline, self.isSuccess ? "passed" : "FAILED: " + self.failures.joined(separator: ", "), "",
            "\(rate)\(NumberText.count(all.answered)) verdicts of \(NumberText.count(all.count)) operations over "
                + "\(NumberText.count(self.totals.peakConnections)) connections",
            "violations \(NumberText.count(self.totals.violations.count)) · unexpected "
                + "\(NumberText.count(all.unexpected)) · unsent \(NumberText.count(self.totals.unsent))",
        ]
        let blocks = [head] + (self.warnings + self.parts).map(\.lines)
        return blocks.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }
}

/// A CSV table (RFC 4180) with one row per interval.
///
/// Times are in µs.
enum IntervalTable {
    private static let percentiles: [(name: String, percent: Double)] = [
        ("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9),
    ]

    private static let columns =
        [
            "start_s", "end_s", "stage", "warmup", "planned_rate", "rate", "operations", "errors", "unexpected",
            "violations", "unsent",
        ]
        + Operation.allCases.map(\.rawValue) + Outcome.answers.map(\.rawValue)
        + Self.percentiles.map { "\($0.name)_us" } + ["max_us", "mean_us"]
        + Self.percentiles.map { "service_\($0.name)_us" } + ["service_max_us"]
        + [
            "connections", "in_flight", "server_cpu_s", "server_cpu_us_per_operation", "server_rss_bytes", "tool_cpu_s",
            "failures",
        ]

    static func text(_ result: RunResult) -> String {
        let rows = [Self.columns] + result.intervals.map(Self.row)
        return rows.map { $0.map(Self.quoted).joined(separator: ",") + "\r\n" }.joined()
    }

    private static func row(_ interval: Interval) -> [String] {
        let totals = interval.totals
        let figures = totals.figures()
        let gauges = interval.gauges
        let head = [
            NumberText.fixed(interval.start.inSeconds, 3), NumberText.fixed(interval.end.inSeconds, 3),
            interval.stage ?? "", interval.isWarmup ? "1" : "0", Self.number(gauges.plannedRate, 1),
            Self.number(totals.rate, 1), "\(totals.count)", "\(figures.failures)", "\(figures.unexpected)",
            "\(interval.violations.count)", "\(interval.unsent)",
        ]
        let counts =
            Operation.allCases.map { "\(interval.operations[$0]?.count ?? 0)" }
            + Outcome.answers.map { "\(figures.outcomes[$0] ?? 0)" }
        let (latency, service) = (figures.latency, figures.serviceTime)
        let times =
            Self.percentiles.map { Self.number(latency.percentile($0.percent)) }
            + [Self.number(latency.max), Self.number(latency.mean, 1)]
            + Self.percentiles.map { Self.number(service.percentile($0.percent)) } + [Self.number(service.max)]
        // For example, `closed=3 timeout=1`.
        let failures = figures.outcomes.filter(\.key.isFailure).sorted { $0.key < $1.key }
            .map { "\($0.key.rawValue.dropFirst("failed:".count))=\($0.value)" }.joined(separator: " ")
        let tail = [
            "\(gauges.connections)", "\(gauges.inFlight)", Self.number(gauges.serverCPUSeconds, 3),
            Self.number(totals.serverCPUMicrosecondsPerOperation, 1), gauges.serverResidentBytes.map { "\($0)" } ?? "",
            Self.number(gauges.toolCPUSeconds, 3), failures,
        ]
        return head + counts + times + tail
    }

    private static func number(_ value: UInt64?) -> String { value.map { "\($0)" } ?? "" }

    private static func number(_ value: Double?, _ decimals: Int) -> String {
        value.map { NumberText.fixed($0, decimals) } ?? ""
    }

    private static func quoted(_ field: String) -> String {
        guard field.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return field }
        return "\"" + field.replacing("\"", with: "\"\"") + "\""
    }
}
