internal import LoadPlan
internal import LoadReport
internal import LoadEngine
internal import ConfigText

/// A run's moment in words: the parts that the line and the block on a terminal are made of.
struct RunWords {
    let plan: LoadPlan
    let moment: RunSnapshot

    private var interval: Interval { self.moment.interval }
    /// Of the last interval.
    private var now: Totals { self.interval.totals }

    var rate: String { Figure.rate(self.now.rate ?? 0) }

    /// Since the warm-up.
    var meanRate: String { Figure.rate(self.moment.totals.rate ?? 0) }

    var time: String {
        let left = max(.zero, self.moment.duration - self.interval.end)
        return "\(Self.clock(self.interval.end)) of \(Self.clock(self.moment.duration)), \(Self.clock(left)) left"
    }

    var stage: String { self.interval.isWarmup ? "warm-up" : self.interval.stage ?? "" }

    /// `valid 4,330 · wrong 482`; what never came is left out, except the first.
    static func verdicts(_ totals: Totals) -> String {
        let outcomes = totals.figures().outcomes.filter { !$0.key.isFailure }.sorted { $0.key < $1.key }
        guard !outcomes.isEmpty else { return "none" }
        return outcomes.map { "\($0.key.rawValue) \(Figure.count($0.value))" }.joined(separator: "  ")
    }

    /// `12 (connect:refused 10, timeout 2)`.
    static func errors(_ totals: Totals) -> String {
        let failures = totals.figures().outcomes.filter(\.key.isFailure)
        let count = failures.values.reduce(0, +)
        guard count > 0 else { return "0" }
        let kinds = failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(3).map { outcome, count in
            "\(outcome.rawValue.dropFirst("failed:".count)) \(Figure.count(count))"
        }
        let more = failures.count > 3 ? ", …" : ""
        return "\(Figure.count(count)) (\(kinds.joined(separator: ", "))\(more))"
    }

    static func latency(_ totals: Totals) -> String {
        let times = totals.figures().latency
        let percentiles = times.percentiles([50, 99])
        return "p50 \(Figure.time(percentiles[0]))  p99 \(Figure.time(percentiles[1]))  max \(Figure.time(times.max))"
    }

    var connections: String {
        let gauges = self.interval.gauges
        var text = "\(Figure.count(gauges.connections)) connections"
        if self.plan.isOpen { text += "  \(Figure.count(self.moment.waiting)) waiting" }
        return text + "  \(Figure.count(gauges.inFlight)) in flight"
    }

    /// What went wrong beside errors; empty where nothing did.
    var troubles: [String] {
        var troubles: [String] = []
        let totals = self.moment.totals
        let unexpected = totals.figures().unexpected
        if totals.violations.count > 0 { troubles.append("VIOLATIONS \(Figure.count(totals.violations.count))") }
        if unexpected > 0 { troubles.append("unexpected \(Figure.count(unexpected))") }
        if totals.unsent > 0 { troubles.append("unsent \(Figure.count(totals.unsent))") }
        return troubles
    }

    /// CPU and memory, as far as they are known.
    var processes: String {
        let gauges = self.interval.gauges
        let seconds = max(1e-9, (self.interval.end - self.interval.start) / .seconds(1))
        var parts: [String] = []
        if let cpu = gauges.serverCPUSeconds {
            parts.append("server \(Self.percent(cpu / seconds)) CPU")
            if let each = self.now.serverCPUMicrosecondsPerOperation, self.now.count > 0 {
                parts.append("\(Figure.time(microseconds: each)) each")
            }
        }
        if let bytes = gauges.serverResidentBytes { parts.append(Figure.bytes(Double(bytes))) }
        if let cpu = gauges.toolCPUSeconds { parts.append("tool \(Self.percent(cpu / seconds)) CPU") }
        return parts.joined(separator: "  ")
    }

    /// The run in one line.
    var line: String {
        var parts = [Self.clock(self.interval.end), self.rate, Self.verdicts(self.now)]
        if self.interval.isWarmup { parts.insert("warm-up", at: 1) }
        parts.append("errors \(Self.errors(self.now))")
        parts.append(Self.latency(self.now))
        parts.append(self.connections)
        parts += self.troubles
        if !self.moment.failing.isEmpty { parts.append("failing \(self.moment.failing.joined(separator: ", "))") }
        parts.append("\(Self.clock(max(.zero, self.moment.duration - self.interval.end))) left")
        return parts.joined(separator: "  ")
    }

    static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded()))%" }

    /// `0:09`, `12:34`, `1:02:03`.
    static func clock(_ duration: Duration) -> String {
        let seconds = Int((duration / .seconds(1)).rounded())
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = "\(seconds / 60 % 60):\(two(seconds % 60))"
        guard seconds >= 3600 else { return minutes }
        return "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }
}
