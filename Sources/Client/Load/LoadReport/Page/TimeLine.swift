/// A run's intervals as points of a plot: neighbors are put together where there are more than a plot can show.
struct TimeLine {
    /// So many a plot shows; each is still wider than a pixel.
    private static let pointLimit = 240

    /// Neighboring intervals as one.
    struct Point {
        let start: Double
        let end: Double
        let totals: Totals
        /// In flight, connections and so on at the end.
        let gauges: Gauges
        let plannedRate: Double?
        let isWarmup: Bool
        /// All operations.
        let latency: Latencies
        let service: Latencies
        let failures: Int

        var middle: Double { (self.start + self.end) / 2 }
        var seconds: Double { self.end - self.start }
    }

    let points: [Point]
    let start: Double
    let end: Double
    let warmup: (from: Double, to: Double)?

    init(_ result: RunResult, limit: Int = Self.pointLimit) {
        let intervals = result.intervals
        let count = min(limit, intervals.count)
        let groups = (0..<count).map { place in
            intervals[(intervals.count * place / count)..<(intervals.count * (place + 1) / count)]
        }
        self.points = groups.compactMap(Self.point)
        self.start = self.points.first?.start ?? 0
        self.end = self.points.last?.end ?? 1
        let warm = intervals.filter(\.isWarmup)
        self.warmup = warm.first.flatMap { first in
            warm.last.map { (first.start.inSeconds, $0.end.inSeconds) }
        }
    }

    private static func point(_ group: ArraySlice<Interval>) -> Point? {
        guard let first = group.first, let last = group.last else { return nil }
        let totals = Totals(ofAll: group)
        let figures = totals.figures()
        let planned = group.compactMap(\.gauges.plannedRate)
        return Point(
            start: first.start.inSeconds,
            end: last.end.inSeconds,
            totals: totals,
            gauges: last.gauges,
            plannedRate: planned.isEmpty ? nil : planned.reduce(0, +) / Double(planned.count),
            isWarmup: first.isWarmup,
            latency: figures.latency,
            service: figures.serviceTime,
            failures: figures.failures
        )
    }

    /// A line of one figure.
    func line(_ figure: (Point) -> Double?) -> [(x: Double, y: Double?)] {
        self.points.map { ($0.middle, figure($0)) }
    }
}
