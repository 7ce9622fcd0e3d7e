internal import Foundation
internal import Histogram

/// The plots of a run.
struct Charts {
    private typealias Points = [(x: Double, y: Double?)]

    private let result: RunResult
    private let timeline: Timeline
    private let time: Scale

    init(_ result: RunResult) {
        self.result = result
        self.timeline = Timeline(result)
        self.time = Scale.time(from: self.timeline.start, to: self.timeline.end)
    }

    /// The plots that have data.
    var all: [Chart] {
        self.timeline.points.isEmpty
            ? [] : [self.rate, self.latency, self.percentiles, self.cores].compactMap(\.self)
    }

    private var rate: Chart {
        let answered = self.timeline.line { $0.totals.rate }
        let planned = self.timeline.line(\.plannedRate)
        let failed = self.timeline.line { $0.totals.perSecond($0.figures.failures) }
        let average = self.result.totals.rate.map(NumberText.rate) ?? "none"
        var chart = self.overTime(
            "rate",
            "Rate over time, per second",
            "Verdicts per second: \(average) on average, at most \(NumberText.rate(Self.highest(answered))).",
            Scale.linear(upTo: Self.highest(answered + planned + failed)),
            Self.countLabel
        ) { point in
            let planned = point.plannedRate.map { " of \(NumberText.rate($0)) planned" } ?? ""
            let failures = point.figures.failures
            return (point.totals.rate.map(NumberText.rate) ?? "–") + planned
                + (failures > 0 ? "\n\(NumberText.count(failures)) errors" : "")
        }
        chart.add("verdicts", "a", answered, isFilled: true)
        if Self.hasValues(planned) { chart.add("planned", "quiet dashed", planned) }
        if failed.contains(where: { $0.y ?? 0 > 0 }) { chart.add("errors", "bad", failed) }
        return chart
    }

    private var latency: Chart? {
        func line(_ value: @escaping (OperationFigures) -> UInt64?) -> Points {
            self.timeline.line { value($0.figures).map { Double($0) } }
        }
        let (longest, p99) = (line(\.latency.max), line { $0.latency.percentile(99) })
        let (p50, service) = (line { $0.latency.percentile(50) }, line { $0.serviceTime.percentile(99) })
        guard Self.hasValues(longest) else { return nil }
        let shown = longest + p99 + p50 + (self.showsServiceTime ? service : [])
        let all = self.result.totals.figures().latency
        var chart = self.overTime(
            "latency",
            "Latency over time",
            "\(self.result.hasDueTimes ? "From the due time" : "From sending"): "
                + "p50 \(NumberText.time(all.percentile(50))), p99 \(NumberText.time(all.percentile(99))), "
                + "maximum \(NumberText.time(all.max)). Logarithmic axis.",
            Scale.logarithmic(from: Self.lowest(shown), to: Self.highest(shown)),
            Self.timeLabel
        ) { point in
            let times = point.figures.latency
            return "p50 \(NumberText.time(times.percentile(50))), p99 \(NumberText.time(times.percentile(99))), "
                + "max \(NumberText.time(times.max))"
        }
        chart.add("max", "quiet", longest)
        chart.add("p99", "b", p99)
        chart.add("p50", "a", p50)
        if self.showsServiceTime { chart.add("p99 from sending", "b dashed", service) }
        return chart
    }

    /// Whether operations waited before they were sent.
    ///
    /// In a closed loop, both times are the same line.
    private var showsServiceTime: Bool {
        let all = self.result.totals.figures()
        guard let latency = all.latency.percentile(99), let service = all.serviceTime.percentile(99) else {
            return false
        }
        return Double(latency) > Double(service) * 1.02
    }

    private var percentiles: Chart? {
        let operations = self.result.totals.sortedOperations.filter { !$0.figures.latency.isEmpty }
        guard !operations.isEmpty else { return nil }
        var lines: [(name: String, style: String, points: Points)] = []
        for ((operation, figures), style) in zip(operations, ["a", "b", "c", "d"]) {
            lines.append((operation.rawValue, style, Self.curve(figures.latency)))
            guard self.showsServiceTime, !figures.serviceTime.isEmpty else { continue }
            lines.append(("\(operation.rawValue) from sending", style + " dashed", Self.curve(figures.serviceTime)))
        }
        let points = lines.flatMap(\.points)
        let end = max(points.map(\.x).max() ?? 1, 1)
        let worst = operations.map {
            "\($0.operation.rawValue) \(NumberText.time($0.figures.latency.percentile(99.9)))"
        }
        var chart = Chart(
            id: "percentiles",
            title: "Latency by percentile",
            summary: "p99.9: \(worst.joined(separator: ", ")). Both axes are logarithmic.",
            x: Scale(lower: 0, upper: end, isLogarithmic: false, ticks: Array(stride(from: 0, through: end, by: 1))),
            xLabel: Self.ninesLabel,
            y: Scale.logarithmic(from: Self.lowest(points), to: Self.highest(points)),
            yLabel: Self.timeLabel
        )
        for line in lines { chart.add(line.name, line.style, line.points) }
        return chart
    }

    /// The distribution, where one unit of x is one nine: 0 at 0%, 1 at 90%, 2 at 99%.
    private static func curve(_ latencies: Latencies) -> Points {
        // The last step of the distribution is a single sample.
        let end = log10(Double(max(latencies.count, 1)))
        return latencies.histogram().percentiles(ticksPerHalfDistance: 8).map { step in
            let share = step.percentileLevelIteratedTo / 100
            return (share < 1 ? min(log10(1 / (1 - share)), end) : end, Double(step.value))
        }
    }

    private var cores: Chart? {
        let server = self.timeline.line(\.totals.serverCores)
        let tool = self.timeline.line(\.totals.toolCores)
        guard Self.hasValues(server) else { return nil }
        let all = self.result.totals
        var chart = self.overTime(
            "cores",
            "Busy cores over time",
            "Server CPU: \(all.serverText ?? "unknown"). The machine has \(self.result.setting.machine.cores) cores.",
            Scale.linear(upTo: Self.highest(server + tool)),
            { NumberText.fixed($0, $0 == $0.rounded() ? 0 : 2) }
        ) { point in
            let cost = point.totals.serverCPUMicrosecondsPerOperation.map { NumberText.time(microseconds: $0) } ?? "–"
            let memory = point.gauges.serverResidentBytes.map { ", memory \(NumberText.bytes(Double($0)))" } ?? ""
            let connections = NumberText.count(point.gauges.connections)
            return "server CPU \(cost) per operation\(memory)\n\(connections) connections"
        }
        chart.add("server", "a", server, isFilled: true)
        if Self.hasValues(tool) { chart.add("pin-load", "quiet dashed", tool) }
        return chart
    }

    /// Creates a plot over time with the warm-up, the markers and a tooltip for each point.
    private func overTime(
        _ id: String,
        _ title: String,
        _ summary: String,
        _ y: Scale,
        _ yLabel: (Double) -> String,
        hint: (Timeline.Point) -> String
    ) -> Chart {
        var chart = Chart(
            id: id,
            title: title,
            summary: summary,
            x: self.time,
            xLabel: { Scale.timeLabel($0, of: self.time) },
            y: y,
            yLabel: yLabel
        )
        if let warmup = self.timeline.warmup { chart.addBand(from: warmup.from, to: warmup.to, "warm-up, not counted") }
        for marker in self.result.markers { chart.addMark(at: marker.at.inSeconds, marker.text) }
        for point in self.timeline.points {
            let span = "\(NumberText.fixed(point.start, 1))–\(NumberText.fixed(point.end, 1)) s"
            chart.addHint(from: point.start, to: point.end, "\(span)\n\(hint(point))")
        }
        return chart
    }

    private static func hasValues(_ points: Points) -> Bool { points.contains { $0.y != nil } }
    private static func lowest(_ points: Points) -> Double { points.compactMap(\.y).min() ?? 1 }
    private static func highest(_ points: Points) -> Double { points.compactMap(\.y).max() ?? 1 }

    /// Formats nines, for example as `0%`, `90%`, `99%` or `99.9%`.
    private static func ninesLabel(_ nines: Double) -> String {
        switch Int(nines) {
        case 0: "0%"
        case 1: "90%"
        case let nines: "99" + (nines > 2 ? "." : "") + String(repeating: "9", count: nines - 2) + "%"
        }
    }

    /// Formats a count, for example as `12k` or `1.5M`.
    private static func countLabel(_ value: Double) -> String {
        if value >= 1_000_000 { return Self.short(value / 1_000_000) + "M" }
        if value >= 10_000 { return Self.short(value / 1000) + "k" }
        return value == value.rounded() ? NumberText.count(Int(value)) : Self.short(value)
    }

    /// Formats a time, for example as `500 µs` or `2 ms`.
    private static func timeLabel(_ microseconds: Double) -> String {
        if microseconds < 1000 { return Self.short(microseconds) + " µs" }
        if microseconds < 1_000_000 { return Self.short(microseconds / 1000) + " ms" }
        return Self.short(microseconds / 1_000_000) + " s"
    }

    private static func short(_ value: Double) -> String { NumberText.fixed(value, value == value.rounded() ? 0 : 1) }
}
