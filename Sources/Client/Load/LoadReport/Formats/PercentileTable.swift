internal import Histogram

/// The percentile table in wrk2's layout (`.hgrm`), which HdrHistogram's plotter reads; values in ms.
enum PercentileTable {
    /// wrk2: five lines for each halving of the distance to 100%.
    private static let ticksPerHalving = 5

    static func text(_ latencies: Latencies) -> String {
        let histogram = latencies.histogram()
        var text = Self.line(["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]) + "\n"
        for step in histogram.percentiles(ticksPerHalfDistance: Self.ticksPerHalving) {
            let share = step.percentileLevelIteratedTo / 100
            text += Self.line([
                Figure.fixed(Double(step.value) / 1000, 3), Figure.fixed(share, 6), "\(step.totalCountToThisValue)",
                Figure.fixed(1 / (1 - share), 2),
            ])
        }
        let mean = (latencies.mean ?? 0) / 1000
        let deviation = latencies.isEmpty ? 0 : histogram.stdDeviation / 1000
        text += Self.footer("Mean", Figure.fixed(mean, 3), "StdDeviation", Figure.fixed(deviation, 3))
        text += Self.footer(
            "Max",
            Figure.fixed(Double(latencies.max ?? 0) / 1000, 3),
            "Total count",
            "\(latencies.count)"
        )
        text += Self.footer("Buckets", "\(CellIndex.count / 1024 - 1)", "SubBuckets", "2048")
        return text
    }

    private static func line(_ fields: [String]) -> String {
        fields.map { $0.padded(to: 12) }.joined(separator: " ") + "\n"
    }

    private static func footer(_ name: String, _ value: String, _ second: String, _ secondValue: String) -> String {
        let left = name.padded(after: 7) + " = " + value.padded(to: 12)
        return "#[\(left), \(second.padded(after: 14)) = \(secondValue.padded(to: 12))]\n"
    }
}

extension String {
    /// With spaces in front, so that it ends at a column.
    func padded(to width: Int) -> String { String(repeating: " ", count: max(0, width - self.count)) + self }

    /// With spaces behind it.
    func padded(after width: Int) -> String { self + String(repeating: " ", count: max(0, width - self.count)) }
}

extension Latencies {
    /// The distribution from its middle to its end, denser the nearer to the end: shares of 1 and times in µs.
    var percentileCurve: [(share: Double, value: UInt64)] {
        self.histogram().percentiles(ticksPerHalfDistance: 8).map { ($0.percentileLevelIteratedTo / 100, $0.value) }
    }
}
