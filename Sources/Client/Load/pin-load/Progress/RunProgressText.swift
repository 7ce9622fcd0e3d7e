internal import LoadEngine
internal import LoadPlan
internal import LoadReport

extension ProgressText {
    /// Describes the state of a run.
    init(_ moment: RunSnapshot, of plan: LoadPlan) {
        let (interval, totals, gauges) = (moment.interval, moment.totals, moment.interval.gauges)
        let now = interval.totals
        let left = max(.zero, moment.duration - interval.end).clockText
        let stage = interval.isWarmup ? ", warm-up" : interval.stage.map { ", \($0)" } ?? ""
        let waiting = plan.isOpen ? "\(NumberText.count(moment.waiting)) waiting  " : ""
        let inFlight = "\(waiting)\(NumberText.count(gauges.inFlight)) in flight"
        let planned = gauges.plannedRate.map { " of \(NumberText.rate($0)) planned" } ?? ""
        let average = totals.rate.map { ", \(NumberText.rate($0)) on average" } ?? ""
        let counts = [
            ("VIOLATIONS", totals.violations.count), ("unexpected", totals.figures().unexpected),
            ("unsent", totals.unsent),
        ]
        self.init(
            [
                "\(interval.end.clockText) of \(moment.duration.clockText), \(left) left\(stage)",
                "\(NumberText.rate(now.rate ?? 0))\(planned)\(average)",
                "\(NumberText.count(gauges.connections)) connections  \(inFlight)",
                now.latencyText, totals.verdictsText, Self.processes(interval),
            ],
            problems: [totals.errorsText] + counts.filter { $0.1 > 0 }.map { "\($0) \(NumberText.count($1))" }
                + moment.failing.map { "failing \($0)" }
        )
    }

    /// CPU and memory usage, if known.
    private static func processes(_ interval: Interval) -> String {
        let (gauges, totals) = (interval.gauges, interval.totals)
        let seconds = max(1e-9, (interval.end - interval.start) / .seconds(1))
        func percent(_ cpu: Double) -> String { "\(Int((cpu / seconds * 100).rounded()))%" }
        let parts = [
            gauges.serverCPUSeconds.map { "server CPU \(percent($0))" },
            totals.serverCPUMicrosecondsPerOperation.map { "\(NumberText.time(microseconds: $0)) per operation" },
            gauges.serverResidentBytes.map { NumberText.bytes(Double($0)) },
            gauges.toolCPUSeconds.map { "pin-load CPU \(percent($0))" },
        ]
        return parts.compactMap(\.self).joined(separator: "  ")
    }

    /// Describes the state of an attack.
    init(_ progress: BurstAttack.Progress) {
        let (statistics, totals) = (progress.statistics, progress.totals)
        let violations = totals.violations.count
        self.init(
            [
                "\(progress.bursts) of \(progress.of) bursts, \(progress.left.clockText) left",
                "right guess accepted \(NumberText.percent(statistics.share)), "
                    + "allowed \(NumberText.percent(statistics.bound))",
                totals.latencyText, totals.verdictsText,
            ],
            problems: [totals.errorsText, violations > 0 ? "VIOLATIONS \(NumberText.count(violations))" : ""]
        )
    }
}

extension Totals {
    fileprivate var latencyText: String {
        let times = self.figures().latency
        return "p50 \(NumberText.time(times.percentile(50)))  p99 \(NumberText.time(times.percentile(99)))  "
            + "max \(NumberText.time(times.max))"
    }

    /// The verdicts, for example `valid 4,330  wrong 482`.
    fileprivate var verdictsText: String {
        let outcomes = self.figures().outcomes.filter { !$0.key.isFailure }.sorted { $0.key < $1.key }
        return outcomes.map { "\($0.key.rawValue) \(NumberText.count($0.value))" }.joined(separator: "  ")
    }

    /// The errors with up to three reasons, for example `errors 12 (connect:refused 10, timeout 2)`.
    ///
    /// Empty if there are none.
    fileprivate var errorsText: String {
        let failures = self.figures().outcomes.filter(\.key.isFailure)
        let count = failures.values.reduce(0, +)
        guard count > 0 else { return "" }
        let reasons = failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(3).map { outcome, count in
            "\(outcome.rawValue.dropFirst("failed:".count)) \(NumberText.count(count))"
        }
        return
            "errors \(NumberText.count(count)) (\(reasons.joined(separator: ", "))\(failures.count > 3 ? ", …" : ""))"
    }
}
