internal import Histogram

/// A distribution of times from 1 µs to 1 h with three significant digits, using the cells of an HdrHistogram.
///
/// Only nonempty cells are stored, because a one-hour run has thousands of distributions and an array of all cells
/// takes 188 kB. All distributions use the same cells, so adding two of them loses no precision.
package struct Latencies: Sendable, Equatable {
    /// One hour.
    ///
    /// Longer times are counted as one hour.
    static let highest: UInt64 = 3_600_000_000

    /// A range of times that the histogram does not distinguish, with the number of times in it.
    package struct Cell: Sendable, Equatable {
        /// The longest time in the range, in µs.
        ///
        /// Percentiles report this value.
        package let value: UInt64
        package fileprivate(set) var count: UInt64
    }

    /// The nonempty cells, sorted by value.
    package private(set) var cells: [Cell] = []

    /// Defines the cell boundaries.
    private static let layout: Histogram<UInt64> = Self.emptyHistogram()

    /// Creates an empty distribution.
    init() {}

    /// Copies the counts from a histogram with the same number of significant digits.
    init<Count>(_ histogram: Histogram<Count>) {
        self.cells = histogram.recordedValues().map { Cell(value: $0.value, count: UInt64($0.count)) }
    }

    /// Creates a distribution from times in µs.
    package init(microseconds: some Sequence<UInt64>) {
        var counts: [UInt64: UInt64] = [:]
        for value in microseconds {
            counts[Self.layout.highestEquivalentForValue(Swift.min(value, Self.highest)), default: 0] += 1
        }
        self.cells = counts.sorted { $0.key < $1.key }.map { Cell(value: $0, count: $1) }
    }

    /// The number of times.
    package var count: Int { Int(self.cells.reduce(0) { $0 + $1.count }) }

    var isEmpty: Bool { self.cells.isEmpty }

    /// The longest time in µs, to three significant digits, or nil if empty.
    package var max: UInt64? { self.cells.last?.value }

    /// The shortest time in µs, to three significant digits, or nil if empty.
    var min: UInt64? { self.cells.first.map { Self.layout.lowestEquivalentForValue($0.value) } }

    /// The mean in µs, or nil if empty.
    var mean: Double? {
        guard !self.isEmpty else { return nil }
        let sum = self.cells.reduce(0.0) {
            $0 + Double(Self.layout.medianEquivalentForValue($1.value)) * Double($1.count)
        }
        return sum / Double(self.count)
    }

    /// Returns the time in µs that `percent` of all times do not exceed, or nil if empty.
    package func percentile(_ percent: Double) -> UInt64? {
        // The Histogram package computes the same rank, rounded up and at least one.
        let wanted = Double(self.count) * Swift.min(Swift.max(percent.nextDown, 0), 100) / 100
        let rank = Swift.max(1, UInt64(wanted.rounded(.up)))
        var passed: UInt64 = 0
        for cell in self.cells {
            passed += cell.count
            if passed >= rank { return cell.value }
        }
        return self.max
    }

    mutating func add(_ other: Latencies) {
        guard !self.isEmpty else {
            self = other
            return
        }
        var merged: [Cell] = []
        merged.reserveCapacity(self.cells.count + other.cells.count)
        var (mine, theirs) = (0, 0)
        while mine < self.cells.count, theirs < other.cells.count {
            let (left, right) = (self.cells[mine], other.cells[theirs])
            if left.value == right.value {
                merged.append(Cell(value: left.value, count: left.count + right.count))
                (mine, theirs) = (mine + 1, theirs + 1)
            } else if left.value < right.value {
                merged.append(left)
                mine += 1
            } else {
                merged.append(right)
                theirs += 1
            }
        }
        self.cells = merged + self.cells[mine...] + other.cells[theirs...]
    }

    func histogram() -> Histogram<UInt64> {
        var histogram = Self.layout
        for cell in self.cells { histogram.record(cell.value, count: cell.count) }
        return histogram
    }

    /// Creates an empty histogram with the cells shared by all histograms in a run.
    ///
    /// It has all cells from the start. Growing it for a long latency would take several milliseconds, in the middle of
    /// a measurement.
    static func emptyHistogram<Count>(of type: Count.Type = UInt64.self) -> Histogram<Count> {
        Histogram(highestTrackableValue: Self.highest, numberOfSignificantValueDigits: .three)
    }
}

extension Latencies: Codable {
    private enum Key: String, CodingKey {
        case count, min, mean, p50, p75, p90, p99, max, values, counts
        case p999 = "p99.9"
        case p9999 = "p99.99"
    }

    private static let percentiles: [(key: Key, percent: Double)] = [
        (.p50, 50), (.p75, 75), (.p90, 90), (.p99, 99), (.p999, 99.9), (.p9999, 99.99),
    ]

    /// Writes the cells as two arrays, and percentiles for programs that do not read the cells.
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(self.count, forKey: .count)
        try fields.encode(self.cells.map(\.value), forKey: .values)
        try fields.encode(self.cells.map(\.count), forKey: .counts)
        try fields.encodeIfPresent(self.min, forKey: .min)
        try fields.encodeIfPresent(self.max, forKey: .max)
        try fields.encodeIfPresent(self.mean, forKey: .mean)
        for (key, percent) in Self.percentiles { try fields.encodeIfPresent(self.percentile(percent), forKey: key) }
    }

    /// Reads the cells.
    ///
    /// Rejects values that are not upper boundaries of cells in ascending order.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let values = try fields.decode([UInt64].self, forKey: .values)
        let counts = try fields.decode([UInt64].self, forKey: .counts)
        let highest = Self.layout.highestEquivalentForValue(Self.highest)
        guard values.count == counts.count, zip(values, values.dropFirst()).allSatisfy({ $0 < $1 }),
            values.allSatisfy({ $0 <= highest && Self.layout.highestEquivalentForValue($0) == $0 }),
            counts.allSatisfy({ (1...Interval.countLimit).contains(Int(clamping: $0)) })
        else {
            throw DecodingError.dataCorruptedError(forKey: .values, in: fields, debugDescription: "not a histogram")
        }
        self.cells = zip(values, counts).map { Cell(value: $0, count: $1) }
    }
}
