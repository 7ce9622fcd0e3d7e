import Histogram
import TestSupport
import Testing

@testable import LoadReport

@Suite("Distributions of times")
struct LatenciesTests {
    private static let percents = [0.1, 1, 10, 50, 75, 90, 99, 99.9, 99.99, 100]

    /// Values over seven orders of magnitude.
    private static func values(_ count: Int, seed: UInt64) -> [UInt64] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            UInt64.random(in: 0...(10 << UInt64.random(in: 0...28, using: &generator)), using: &generator)
        }
    }

    @Test("a percentile is the sorted values' own, to three digits", arguments: [1, 2, 7, 1000, 20_000])
    func percentiles(count: Int) throws {
        let values = Self.values(count, seed: UInt64(count))
        let latencies = Latencies(microseconds: values)
        let sorted = values.sorted()
        for percent in Self.percents {
            let rank = max(1, Int((Double(count) * percent.nextDown / 100).rounded(.up)))
            let exact = sorted[rank - 1]
            let told = try #require(latencies.percentile(percent))
            #expect(told >= exact && Double(told - exact) <= Double(exact) / 1000, "p\(percent) of \(count)")
        }
        #expect(latencies.count == count)
        let least = try #require(latencies.min)
        #expect(least <= sorted[0] && Double(sorted[0] - least) <= Double(sorted[0]) / 1000)
    }

    @Test("every figure is the one that the package gives", arguments: [1, 2, 7, 1000, 20_000])
    func package(count: Int) throws {
        let values = Self.values(count, seed: UInt64(count) + 50)
        let latencies = Latencies(microseconds: values)
        var recorded = Latencies.emptyHistogram(of: UInt32.self)
        for value in values { recorded.record(value) }
        #expect(Latencies(recorded) == latencies)
        let histogram = latencies.histogram()
        for percent in Self.percents + [5, 33.3, 95] {
            #expect(latencies.percentile(percent) == histogram.valueAtPercentile(percent), "p\(percent)")
        }
        #expect(latencies.max == histogram.max)
        #expect(try abs(#require(latencies.mean) - histogram.mean) <= histogram.mean * 1e-9)
        #expect(latencies.min == histogram.lowestEquivalentForValue(histogram.min))
    }

    @Test("adding two is recording both's values, in whatever order")
    func adding() {
        for seed in 1...20 as ClosedRange<UInt64> {
            let first = Self.values(Int(seed) * 37, seed: seed)
            let second = Self.values(300, seed: seed + 100)
            var sum = Latencies(microseconds: first)
            sum.add(Latencies(microseconds: second))
            #expect(sum == Latencies(microseconds: first + second), "seed \(seed)")
            var other = Latencies(microseconds: second)
            other.add(Latencies(microseconds: first))
            #expect(sum == other, "seed \(seed)")
        }
    }

    @Test("nothing measured has no figures, and changes nothing when added")
    func nothing() {
        let nothing = Latencies()
        #expect(nothing.percentile(50) == nil && nothing.min == nil && nothing.max == nil && nothing.mean == nil)
        var sum = Latencies(microseconds: [5])
        sum.add(nothing)
        #expect(sum == Latencies(microseconds: [5]))
        var other = nothing
        other.add(sum)
        #expect(other == sum)
    }

    @Test("what takes longer than an hour counts as an hour")
    func longest() {
        let latencies = Latencies(microseconds: [Latencies.highest, Latencies.highest * 1000])
        #expect(latencies.count == 2)
        #expect(latencies == Latencies(microseconds: [Latencies.highest, Latencies.highest]))
    }

    @Test("a value's cell is the one that the package would count it in")
    func cells() {
        let package = Latencies.emptyHistogram(of: UInt64.self)
        var previous = -1
        for index in 0..<CellIndex.count {
            let highest = CellIndex.highestValue(at: index)
            guard package.highestEquivalentForValue(highest) == highest else {
                Issue.record("\(highest) is not the last of its cell")
                return
            }
            guard CellIndex.index(of: highest) == index,
                CellIndex.index(of: package.lowestEquivalentForValue(highest)) == index
            else {
                Issue.record("the cell of \(highest) is not \(index)")
                return
            }
            previous = index
        }
        #expect(previous == CellIndex.count - 1)
        #expect(CellIndex.highestValue(at: CellIndex.count - 1) >= Latencies.highest)
    }
}
