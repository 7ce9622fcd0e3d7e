internal import Histogram

/// A distribution of times from 1 µs to 1 h with three significant digits, as an HdrHistogram has it.
///
/// Only the cells that count something are held: a run of an hour has thousands of these, and an array of every cell is 188 kB.
package struct Latencies: Sendable, Equatable {
    /// One hour: what took longer is counted as this long.
    package static let highest: UInt64 = 3_600_000_000

    /// A range of times that cannot be told apart, and how often one fell into it.
    struct Cell: Sendable, Equatable {
        /// The largest time of the range, in µs: what a percentile that falls here is said to be.
        let value: UInt64
        var count: UInt64
    }

    /// Sorted by value; every count is at least 1.
    private(set) var cells: [Cell] = []

    /// Nothing measured.
    package init() {}

    /// - Parameter cells: Sorted, each with a count and the largest value of its range.
    init(cells: [Cell]) {
        self.cells = cells
    }

    /// Takes over what a histogram of the same digits has counted.
    init<Count>(_ histogram: Histogram<Count>) {
        self.cells = histogram.recordedValues().map { Cell(value: $0.value, count: UInt64($0.count)) }
    }

    /// Times in µs, each once.
    package init(microseconds: some Sequence<UInt64>) {
        var counts: [Int: UInt64] = [:]
        for value in microseconds { counts[CellIndex.index(of: Swift.min(value, Self.highest)), default: 0] += 1 }
        self.cells = counts.sorted { $0.key < $1.key }.map { index, count in
            Cell(value: CellIndex.highestValue(at: index), count: count)
        }
    }

    /// How many were measured.
    package var count: Int { Int(self.cells.reduce(0) { $0 + $1.count }) }

    /// Whether nothing was measured.
    package var isEmpty: Bool { self.cells.isEmpty }

    /// The longest time in µs, to three digits; nil when nothing was measured.
    package var max: UInt64? { self.cells.last?.value }

    /// The shortest time in µs, to three digits; nil when nothing was measured.
    package var min: UInt64? { self.cells.first.map { CellIndex.range(of: $0.value).lowerBound } }

    /// The mean in µs; nil when nothing was measured.
    package var mean: Double? {
        guard !self.isEmpty else { return nil }
        let sum = self.cells.reduce(0.0) { $0 + Double(CellIndex.middle(of: $1.value)) * Double($1.count) }
        return sum / Double(self.count)
    }

    /// The time in µs within which `percent` of all ended; nil when nothing was measured.
    package func percentile(_ percent: Double) -> UInt64? {
        // As the package has it: what rounds to a whole number is that number, and at least one sample lies within.
        let wanted = Double(self.count) * Swift.min(Swift.max(percent.nextDown, 0), 100) / 100
        let rank = Swift.max(1, UInt64(wanted.rounded(.up)))
        var passed: UInt64 = 0
        for cell in self.cells {
            passed += cell.count
            if passed >= rank { return cell.value }
        }
        return self.max
    }

    /// Several percentiles.
    package func percentiles(_ percents: [Double]) -> [UInt64?] { percents.map(self.percentile) }

    /// Adds what another has counted.
    package mutating func add(_ other: Latencies) {
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

    /// The same as one of the package's, for what only that can do.
    func histogram() -> Histogram<UInt64> {
        var histogram = Self.emptyHistogram(of: UInt64.self)
        for cell in self.cells { histogram.record(cell.value, count: cell.count) }
        return histogram
    }

    /// One with the digits that every histogram of a run has; it grows to the longest time that it meets.
    static func emptyHistogram<Count>(of type: Count.Type = UInt64.self) -> Histogram<Count> {
        Histogram(numberOfSignificantValueDigits: .three)
    }
}
