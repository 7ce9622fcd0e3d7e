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
        /// The gauges at the end.
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
