internal import Foundation

/// The plots of a run.
struct Charts {
    private let result: RunResult
    private let line: TimeLine
    private let time: Scale

    init(_ result: RunResult) {
        self.result = result
        self.line = TimeLine(result)
        self.time = Scale.time(from: self.line.start, to: self.line.end)
    }

    /// All of them; those without a figure are left out.
    var html: String {
        guard !self.line.points.isEmpty else { return "" }
        return [self.rate, self.latency, self.percentiles, self.cost].compactMap(\.self).map(\.html).joined()
    }

    private func overTime(
        _ id: String,
        _ title: String,
        _ summary: String,
        _ y: Scale,
        _ yText: @escaping (Double) -> String,
        _ series: [Chart.Series],
        hint: (TimeLine.Point) -> String
    ) -> Chart {
        Chart(
            id: id,
            title: title,
            summary: summary,
            x: self.time,
            xTicks: self.time.ticks.map { Chart.Tick(value: $0, text: Scale.timeText($0, of: self.time)) },
            y: y,
            yText: yText,
            series: series,
            bands: self.line.warmup.map { [Chart.Band(from: $0.from, to: $0.to, name: "warm-up, not counted")] } ?? [],
            marks: self.result.markers.map { Chart.Tick(value: $0.at.inSeconds, text: $0.text) },
            hints: self.line.points.map { point in
                let span = "\(Figure.fixed(point.start, 1))–\(Figure.fixed(point.end, 1)) s"
                return Chart.Hint(from: point.start, to: point.end, text: "\(span)\n\(hint(point))")
            }
        )
    }

    private var rate: Chart {
        let answered = self.line.line { $0.totals.rate }
        let planned = self.line.line(\.plannedRate)
        let failed = self.line.line { $0.totals.perSecond($0.failures) }
        let hasFailures = self.line.points.contains { $0.failures > 0 }
        var series = [Chart.Series(name: "verdicts", style: "a", points: answered, isFilled: true)]
        if planned.contains(where: { $0.y != nil }) {
            series.append(Chart.Series(name: "asked for", style: "quiet", points: planned, isDashed: true))
        }
        if hasFailures { series.append(Chart.Series(name: "without a verdict", style: "bad", points: failed)) }
        let highest = series.flatMap(\.points).compactMap(\.y).max() ?? 1
        return self.overTime(
            "rate",
            "Rate over time, per second",
            "Verdicts per second: \(self.result.totals.rate.map(Figure.rate) ?? "none") on average, "
                + "at most \(Figure.rate(answered.compactMap(\.y).max() ?? 0)).",
            Scale.linear(upTo: highest),
            Self.shortCount,
            series,
            hint: { point in
                let asked = point.plannedRate.map { " of \(Figure.rate($0)) asked for" } ?? ""
                return (point.totals.rate.map(Figure.rate) ?? "–") + asked
                    + (point.failures > 0 ? "\n\(Figure.count(point.failures)) without a verdict" : "")
            }
        )
    }

    private var latency: Chart? {
        let percents = [50.0, 99]
        let figures = self.line.points.map {
            ($0.middle, $0.latency.percentiles(percents).map { $0.map { Double($0) } }, $0.latency.max)
        }
        guard figures.contains(where: { $0.2 != nil }) else { return nil }
        var series = [
            Chart.Series(name: "max", style: "quiet", points: figures.map { ($0.0, $0.2.map { Double($0) }) }),
            Chart.Series(name: "p99", style: "b", points: figures.map { ($0.0, $0.1[1]) }),
            Chart.Series(name: "p50", style: "a", points: figures.map { ($0.0, $0.1[0]) }),
        ]
        if self.showsServiceTime {
            let service = self.line.line { $0.service.percentile(99).map { Double($0) } }
            series.append(Chart.Series(name: "p99 from sending", style: "b", points: service, isDashed: true))
        }
        let values = series.flatMap(\.points).compactMap(\.y)
        let all = self.result.totals.figures().latency
        return self.overTime(
            "latency",
            "Latency over time",
            "\(self.result.hasDueTimes ? "From the due time" : "From sending"): half within \(Figure.time(all.percentile(50))), 99% within \(Figure.time(all.percentile(99))), "
                + "the longest \(Figure.time(all.max)). Logarithmic axis.",
            Scale.logarithmic(from: values.min() ?? 1, to: values.max() ?? 10),
            { Figure.axisTime(microseconds: $0) },
            series,
            hint: { point in
                let values = point.latency.percentiles(percents)
                return
                    "p50 \(Figure.time(values[0])), p99 \(Figure.time(values[1])), max \(Figure.time(point.latency.max))"
            }
        )
    }

    /// Whether operations had to wait before they were sent; in a closed loop both times are the same line.
    private var showsServiceTime: Bool {
        let all = self.result.totals.figures()
        guard let due = all.latency.percentile(99), let sent = all.serviceTime.percentile(99) else { return false }
        return Double(due) > Double(sent) * 1.02
    }

    private var percentiles: Chart? {
        let operations = self.result.totals.sortedOperations.filter { !$0.figures.latency.isEmpty }
        guard !operations.isEmpty else { return nil }
        var series: [Chart.Series] = []
        for (place, (operation, figures)) in operations.enumerated() {
            let style = ["a", "b", "c", "d"][place % 4]
            series.append(Chart.Series(name: operation.rawValue, style: style, points: Self.curve(figures.latency)))
            guard self.showsServiceTime, !figures.serviceTime.isEmpty else { continue }
            let points = Self.curve(figures.serviceTime)
            series.append(
                Chart.Series(name: "\(operation.rawValue) from sending", style: style, points: points, isDashed: true)
            )
        }
        let values = series.flatMap(\.points).compactMap(\.y)
        let furthest = max(series.flatMap(\.points).map(\.x).max() ?? 1, 1)
        let nines = (0...Int(furthest.rounded(.up))).filter { Double($0) <= furthest }
        let worst = operations.map { operation, figures in
            "\(operation.rawValue) \(Figure.time(figures.latency.percentile(99.9)))"
        }
        return Chart(
            id: "percentiles",
            title: "Latency by percentile",
            summary: "99.9% of operations ended within: \(worst.joined(separator: ", ")). Both axes are logarithmic.",
            x: Scale(lower: 0, upper: furthest, isLogarithmic: false, ticks: []),
            xTicks: nines.map { Chart.Tick(value: Double($0), text: Self.nines($0)) },
            y: Scale.logarithmic(from: values.min() ?? 1, to: values.max() ?? 10),
            yText: { Figure.axisTime(microseconds: $0) },
            series: series
        )
    }

    /// Each further nine is as far from the one before: x is how often the rest halves, to the base of ten.
    private static func curve(_ latencies: Latencies) -> [(x: Double, y: Double?)] {
        // One sample is the last step: beyond it there is nothing to be told apart.
        let end = log10(Double(max(latencies.count, 1)))
        return latencies.percentileCurve.map { share, value in
            (share < 1 ? min(log10(1 / (1 - share)), end) : end, Double(value))
        }
    }

    /// `0%`, `90%`, `99%`, `99.9%`.
    private static func nines(_ count: Int) -> String {
        switch count {
        case 0: "0%"
        case 1: "90%"
        case 2: "99%"
        default: "99." + String(repeating: "9", count: count - 2) + "%"
        }
    }

    private var cost: Chart? {
        func cores(_ seconds: (Gauges) -> Double?) -> [(x: Double, y: Double?)] {
            self.line.line { point in
                let used = seconds(
                    Gauges(serverCPUSeconds: point.totals.serverCPUSeconds, toolCPUSeconds: point.totals.toolCPUSeconds)
                )
                return used.map { $0 / point.seconds }
            }
        }
        let server = cores(\.serverCPUSeconds)
        let tool = cores(\.toolCPUSeconds)
        guard server.contains(where: { $0.y != nil }) else { return nil }
        var series = [Chart.Series(name: "server", style: "a", points: server, isFilled: true)]
        if tool.contains(where: { $0.y != nil }) {
            series.append(Chart.Series(name: "this tool", style: "quiet", points: tool, isDashed: true))
        }
        let highest = series.flatMap(\.points).compactMap(\.y).max() ?? 1
        let all = self.result.totals
        return self.overTime(
            "cost",
            "Cores kept busy",
            "The server: \(all.serverText ?? "unknown"). The machine has \(self.result.setting.machine.cores) cores.",
            Scale.linear(upTo: highest),
            { Figure.fixed($0, $0 == $0.rounded() ? 0 : 2) },
            series,
            hint: { point in
                let each = point.totals.serverCPUMicrosecondsPerOperation.map { Figure.time(microseconds: $0) } ?? "–"
                let memory =
                    point.gauges.serverResidentBytes.map { "\nserver's memory \(Figure.bytes(Double($0)))" } ?? ""
                return "server \(each) per operation\(memory)\n\(Figure.count(point.gauges.connections)) connections"
            }
        )
    }

    /// `12k`, `1.5M`: beside an axis there is no room for more.
    private static func shortCount(_ value: Double) -> String {
        func short(_ value: Double) -> String { Figure.fixed(value, value == value.rounded() ? 0 : 1) }
        if value >= 1_000_000 { return short(value / 1_000_000) + "M" }
        if value >= 10_000 { return short(value / 1000) + "k" }
        return value == value.rounded() ? Figure.count(Int(value)) : short(value)
    }
}

extension Figure {
    /// A round time beside an axis: `500 µs`, `2 ms`.
    static func axisTime(microseconds: Double) -> String {
        func short(_ value: Double) -> String { Figure.fixed(value, value == value.rounded() ? 0 : 1) }
        if microseconds < 1000 { return short(microseconds) + " µs" }
        if microseconds < 1_000_000 { return short(microseconds / 1000) + " ms" }
        return short(microseconds / 1_000_000) + " s"
    }
}
