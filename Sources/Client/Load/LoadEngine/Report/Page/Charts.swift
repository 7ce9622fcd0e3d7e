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

/// A plot with all coordinates computed, ready for the template.
///
/// The template reads the stored properties by name.
struct Chart {
    /// The plot's drawing area in SVG coordinates.
    struct Frame {
        let width = 360
        let height = 230
        let left = 50
        let right = 348
        let top = 14
        let bottom = 204
        /// The length of the y axis.
        let rise = 190
        /// The x coordinate of the y-axis labels, and the y coordinate of the x-axis labels.
        let labelX = 44
        let labelY = 221
    }

    struct Line {
        let name: String
        /// CSS classes used on the page: `a` to `d`, `bad` or `quiet`, and `dashed`.
        let lineStyle: String
        let path: String
        /// The outline of the area below the line.
        let area: String?
    }

    struct Tick {
        let place: String
        let label: String
        /// Whether the label ends at the tick, because a centered label would extend beyond the picture.
        var isAtEnd = false
    }

    /// A stretch of the x axis: a tinted band or an area with a tooltip.
    struct Stretch {
        let x: String
        let span: String
        let label: String
    }

    static let frame = Frame()

    let id: String
    let title: String
    /// A description with numbers, for readers who cannot see the plot.
    let summary: String
    private let x: Scale
    private let y: Scale
    private(set) var lines: [Line] = []
    let xTicks: [Tick]
    let yTicks: [Tick]
    private(set) var bands: [Stretch] = []
    private(set) var marks: [Tick] = []
    private(set) var hints: [Stretch] = []

    init(
        id: String,
        title: String,
        summary: String,
        x: Scale,
        xLabel: (Double) -> String,
        y: Scale,
        yLabel: (Double) -> String
    ) {
        (self.id, self.title, self.summary, self.x, self.y) = (id, title, summary, x, y)
        self.xTicks = x.ticks.map {
            Tick(place: Self.across($0, x), label: xLabel($0), isAtEnd: x.place(of: $0) > 0.95)
        }
        self.yTicks = y.ticks.map { Tick(place: Self.down($0, y), label: yLabel($0)) }
    }

    /// Adds a line through points in ascending x order, leaving a gap at each unknown y.
    mutating func add(_ name: String, _ style: String, _ points: [(x: Double, y: Double?)], isFilled: Bool = false) {
        let segments = points.split { $0.y == nil }.map { segment in
            segment.map { "\(Self.across($0.x, self.x)) \(Self.down($0.y ?? 0, self.y))" }
        }
        // A line from a point to itself is drawn as a dot, because line ends are round.
        let path = segments.map { "M" + ($0.count == 1 ? $0 + $0 : $0).joined(separator: "L") }.joined()
        let area = segments.map { segment in
            let ends = [segment.first, segment.last].map { ($0 ?? "").prefix { $0 != " " } }
            return "M\(ends[0]) \(Self.frame.bottom)L\(segment.joined(separator: "L"))L\(ends[1]) \(Self.frame.bottom)Z"
        }.joined()
        self.lines.append(Line(name: name, lineStyle: style, path: path, area: isFilled ? area : nil))
    }

    mutating func addBand(from start: Double, to end: Double, _ label: String) {
        self.bands.append(self.stretch(from: start, to: end, label))
    }

    mutating func addHint(from start: Double, to end: Double, _ label: String) {
        self.hints.append(self.stretch(from: start, to: end, label))
    }

    mutating func addMark(at value: Double, _ label: String) {
        self.marks.append(Tick(place: Self.across(value, self.x), label: label))
    }

    private func stretch(from start: Double, to end: Double, _ label: String) -> Stretch {
        let span = (self.x.place(of: end) - self.x.place(of: start)) * Double(Self.frame.right - Self.frame.left)
        return Stretch(x: Self.across(start, self.x), span: Self.number(max(span, 0.5)), label: label)
    }

    private static func across(_ value: Double, _ scale: Scale) -> String {
        Self.number(Double(Self.frame.left) + scale.place(of: value) * Double(Self.frame.right - Self.frame.left))
    }

    private static func down(_ value: Double, _ scale: Scale) -> String {
        Self.number(Double(Self.frame.bottom) - scale.place(of: value) * Double(Self.frame.rise))
    }

    private static func number(_ value: Double) -> String {
        let text = NumberText.fixed(value, 1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

/// Maps values to positions on an axis, and provides the values for its ticks.
struct Scale {
    let lower: Double
    let upper: Double
    let isLogarithmic: Bool
    let ticks: [Double]

    /// Returns the position on the axis, from 0 at its start to 1 at its end.
    func place(of value: Double) -> Double {
        let place =
            if self.isLogarithmic {
                (log10(max(value, self.lower)) - log10(self.lower)) / (log10(self.upper) - log10(self.lower))
            } else {
                (value - self.lower) / (self.upper - self.lower)
            }
        return min(max(place, 0), 1)
    }

    /// Creates an axis from 0 to a round number, with at most five steps.
    static func linear(upTo highest: Double) -> Scale {
        let highest = highest > 0 ? highest : 1
        let magnitude = pow(10, (log10(highest / 5)).rounded(.down))
        let step = [1, 2, 2.5, 5, 10].map { $0 * magnitude }.first { highest / $0 <= 5.000_001 } ?? 10 * magnitude
        let steps = Int((highest / step - 1e-9).rounded(.up))
        return Scale(
            lower: 0,
            upper: Double(max(steps, 1)) * step,
            isLogarithmic: false,
            ticks: (0...max(steps, 1)).map { Double($0) * step }
        )
    }

    /// Creates an axis from a power of ten to the next 1, 2 or 5 times a power of ten above the highest value.
    static func logarithmic(from lowest: Double, to highest: Double) -> Scale {
        let lowest = max(lowest, 1)
        let lower = pow(10, log10(lowest).rounded(.down))
        let wanted = max(highest, lowest * 1.01)
        var candidates: [Double] = []
        for exponent in 0...12 {
            candidates += [1.0, 2, 5].map { $0 * lower * pow(10, Double(exponent)) }
        }
        let upper = candidates.first { $0 >= wanted && $0 > lower } ?? wanted
        let inside = candidates.filter { $0 <= upper * 1.000_001 }
        let decades = inside.filter { Self.isPowerOfTen($0) }
        return Scale(lower: lower, upper: upper, isLogarithmic: true, ticks: inside.count <= 7 ? inside : decades)
    }

    private static func isPowerOfTen(_ value: Double) -> Bool {
        let exponent = log10(value)
        return (exponent - exponent.rounded()).magnitude < 1e-6
    }

    /// Creates an axis in seconds with ticks at round clock times.
    static func time(from start: Double, to end: Double) -> Scale {
        let steps: [Double] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400,
        ]
        let end = end > start ? end : start + 1
        let step = steps.first { (end - start) / $0 <= 6 } ?? (end - start) / 5
        let first = (start / step).rounded(.up) * step
        return Scale(
            lower: start,
            upper: end,
            isLogarithmic: false,
            ticks: Array(stride(from: first, through: end + 1e-9, by: step))
        )
    }

    /// Formats a time as `40 s`, `1:30`, `5 min` or `2 h`, depending on the length of the run.
    static func timeLabel(_ seconds: Double, of scale: Scale) -> String {
        let whole = Int(seconds.rounded())
        if scale.upper <= 120 { return whole == 0 ? "0" : "\(whole) s" }
        if whole == 0 { return "0" }
        if whole.isMultiple(of: 3600) { return "\(whole / 3600) h" }
        if whole.isMultiple(of: 60), whole < 3600 { return "\(whole / 60) min" }
        let minutes = (whole % 3600) / 60
        if whole >= 3600 { return "\(whole / 3600):\(Self.twoDigits(minutes)) h" }
        return "\(minutes):\(Self.twoDigits(whole % 60))"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// The intervals of a run as plot points.
///
/// If there are too many, neighbors are merged.
struct Timeline {
    /// The maximum number of points, each of which must be wider than a pixel.
    private static let pointLimit = 240

    /// An interval, or several merged neighbors.
    struct Point {
        /// The seconds since the start of the run.
        let start: Double
        let end: Double
        let totals: Totals
        /// The sums over all operations.
        let figures: OperationFigures
        let gauges: Gauges
        let plannedRate: Double?

        var seconds: Double { self.end - self.start }
    }

    let points: [Point]
    let start: Double
    let end: Double
    let warmup: (from: Double, to: Double)?

    init(_ result: RunResult, limit: Int = Self.pointLimit) {
        let intervals = result.intervals
        let count = min(limit, intervals.count)
        self.points = (0..<count).compactMap { place in
            Self.point(intervals[(intervals.count * place / count)..<(intervals.count * (place + 1) / count)])
        }
        self.start = self.points.first?.start ?? 0
        self.end = self.points.last?.end ?? 1
        let warmup = intervals.filter(\.isWarmup)
        self.warmup = warmup.last.map { (warmup[0].start.inSeconds, $0.end.inSeconds) }
    }

    private static func point(_ group: ArraySlice<Interval>) -> Point? {
        guard let first = group.first, let last = group.last else { return nil }
        let totals = Totals(ofAll: group)
        let planned = group.compactMap(\.gauges.plannedRate)
        return Point(
            start: first.start.inSeconds,
            end: last.end.inSeconds,
            totals: totals,
            figures: totals.figures(),
            gauges: last.gauges,
            plannedRate: planned.isEmpty ? nil : planned.reduce(0, +) / Double(planned.count)
        )
    }

    /// Returns a value for each point, placed at the middle of its time.
    func line(_ value: (Point) -> Double?) -> [(x: Double, y: Double?)] {
        self.points.map { (($0.start + $0.end) / 2, value($0)) }
    }
}
