/// One row for each interval as CSV (RFC 4180), the warm-up's marked; times in µs.
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
            Figure.fixed(interval.start.inSeconds, 3), Figure.fixed(interval.end.inSeconds, 3), interval.stage ?? "",
            interval.isWarmup ? "1" : "0", Self.number(gauges.plannedRate, 1), Self.number(totals.rate, 1),
            "\(totals.count)", "\(figures.failures)", "\(figures.unexpected)", "\(interval.violations.count)",
            "\(interval.unsent)",
        ]
        let counts =
            Operation.allCases.map { "\(interval.operations[$0]?.count ?? 0)" }
            + Outcome.answers.map { "\(figures.outcomes[$0] ?? 0)" }
        let percents = Self.percentiles.map(\.percent)
        let times =
            figures.latency.percentiles(percents).map(Self.number)
            + [Self.number(figures.latency.max), Self.number(figures.latency.mean, 1)]
            + figures.serviceTime.percentiles(percents).map(Self.number) + [Self.number(figures.serviceTime.max)]
        let tail = [
            "\(gauges.connections)", "\(gauges.inFlight)", Self.number(gauges.serverCPUSeconds, 3),
            Self.number(totals.serverCPUMicrosecondsPerOperation, 1), gauges.serverResidentBytes.map { "\($0)" } ?? "",
            Self.number(gauges.toolCPUSeconds, 3), Self.failures(figures),
        ]
        return head + counts + times + tail
    }

    /// `closed=3 timeout=1`.
    private static func failures(_ figures: OperationFigures) -> String {
        figures.outcomes.filter(\.key.isFailure).sorted { $0.key < $1.key }
            .map { "\($0.key.rawValue.dropFirst("failed:".count))=\($0.value)" }.joined(separator: " ")
    }

    private static func number(_ value: UInt64?) -> String { value.map { "\($0)" } ?? "" }

    private static func number(_ value: Double?, _ decimals: Int) -> String {
        value.map { Figure.fixed($0, decimals) } ?? ""
    }

    private static func quoted(_ field: String) -> String {
        guard field.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return field }
        return "\"" + field.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }
}
