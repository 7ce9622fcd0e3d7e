internal import LoadEngine
internal import LoadPlan
internal import LoadReport

extension ProgressText {
    /// The state of a run.
    init(_ moment: RunSnapshot, of plan: LoadPlan) {
        let (interval, totals, gauges) = (moment.interval, moment.totals, moment.interval.gauges)
        let now = interval.totals
        let time = interval.end.clockText
        let left = max(.zero, moment.duration - interval.end).clockText
        let rate = NumberText.rate(now.rate ?? 0)
        var connections = "\(NumberText.count(gauges.connections)) connections"
        if plan.isOpen { connections += "  \(NumberText.count(moment.waiting)) waiting" }
        connections += "  \(NumberText.count(gauges.inFlight)) in flight"
        let counted = [
            ("VIOLATIONS", totals.violations.count), ("unexpected", totals.figures().unexpected),
            ("unsent", totals.unsent),
        ]
        let troubles = counted.filter { $0.1 > 0 }.map { "\($0) \(NumberText.count($1))" }
        let stage = interval.isWarmup ? "warm-up" : interval.stage ?? ""
        let load = plan.isOpen ? "\(NumberText.rate(moment.load)) planned" : "closed loop"
        let times = "\(time) of \(moment.duration.clockText), \(left) left"
        var block = [
            Line(text: [stage, load, times].filter { !$0.isEmpty }.joined(separator: " · ")),
            Line(text: "rate      \(rate) now  \(NumberText.rate(totals.rate ?? 0)) on average  \(connections)"),
            Line(text: "latency   \(now.latencyText)  (last second)"),
            Line(text: "          \(totals.latencyText)  (whole run)"),
            Line(text: "verdicts  \(totals.verdictsText)"),
            Line(text: "errors    \(totals.errorsText)", isAlarming: totals.figures().failures > 0),
        ]
        if !troubles.isEmpty {
            block.append(Line(text: "          \(troubles.joined(separator: "  "))", isAlarming: true))
        }
        let processes = Self.processes(interval)
        if !processes.isEmpty { block.append(Line(text: "CPU       \(processes)")) }
        let failing = moment.failing.joined(separator: "  ")
        if !failing.isEmpty { block.append(Line(text: "failing   \(failing)", isAlarming: true)) }
        let parts =
            [time] + (interval.isWarmup ? ["warm-up"] : [])
            + [rate, now.verdictsText, "errors \(now.errorsText)", now.latencyText, connections] + troubles
            + (failing.isEmpty ? [] : ["failing \(failing)"]) + ["\(left) left"]
        self.init(block: block, line: parts.joined(separator: "  "))
    }

    /// CPU and memory, as far as they are known.
    private static func processes(_ interval: Interval) -> String {
        let (gauges, totals) = (interval.gauges, interval.totals)
        let seconds = max(1e-9, interval.length / .seconds(1))
        func percent(_ cpu: Double) -> String { "\(Int((cpu / seconds * 100).rounded()))%" }
        let parts = [
            gauges.serverCPUSeconds.map { "server \(percent($0))" },
            totals.serverCPUMicrosecondsPerOperation.map { "\(NumberText.time(microseconds: $0)) per operation" },
            gauges.serverResidentBytes.map { NumberText.bytes(Double($0)) },
            gauges.toolCPUSeconds.map { "pin-load \(percent($0))" },
        ]
        return parts.compactMap(\.self).joined(separator: "  ")
    }

    /// The state of an attack, the most important numbers first for a narrow terminal.
    init(_ progress: BurstAttack.Progress) {
        let (statistics, totals) = (progress.statistics, progress.totals)
        let violations = totals.violations.count
        let parts =
            ["\(progress.bursts) of \(progress.of) bursts"] + (violations > 0 ? ["\(violations) VIOLATIONS"] : [])
            + [
                "\(progress.elapsed.clockText), \(progress.left.clockText) left",
                "right guess accepted \(NumberText.percent(statistics.share)), "
                    + "allowed \(NumberText.percent(statistics.bound))",
                "errors \(totals.errorsText)", totals.latencyText, totals.verdictsText,
            ]
        self.init(parts.joined(separator: " · "))
    }
}

extension Totals {
    fileprivate var latencyText: String {
        let times = self.figures().latency
        return "p50 \(NumberText.time(times.percentile(50)))  p99 \(NumberText.time(times.percentile(99)))  "
            + "max \(NumberText.time(times.max))"
    }

    /// `valid 4,330  wrong 482`.
    fileprivate var verdictsText: String {
        let outcomes = self.figures().outcomes.filter { !$0.key.isFailure }.sorted { $0.key < $1.key }
        guard !outcomes.isEmpty else { return "none" }
        return outcomes.map { "\($0.key.rawValue) \(NumberText.count($0.value))" }.joined(separator: "  ")
    }

    /// `12 (connect:refused 10, timeout 2)`, with at most three reasons.
    fileprivate var errorsText: String {
        let failures = self.figures().outcomes.filter(\.key.isFailure)
        let count = failures.values.reduce(0, +)
        guard count > 0 else { return "0" }
        let reasons = failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(3).map { outcome, count in
            "\(outcome.rawValue.dropFirst("failed:".count)) \(NumberText.count(count))"
        }
        return "\(NumberText.count(count)) (\(reasons.joined(separator: ", "))\(failures.count > 3 ? ", …" : ""))"
    }
}
