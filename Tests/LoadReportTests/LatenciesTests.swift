import Foundation
import Histogram
import TestSupport
import Testing

@testable import LoadEngine

@Suite("Distribution of times")
struct LatenciesTests {
    private static let percents = [0.1, 1, 10, 50, 75, 90, 99, 99.9, 99.99, 100]

    /// Random values over seven orders of magnitude.
    private static func values(_ count: Int, seed: UInt64) -> [UInt64] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            UInt64.random(in: 0...(10 << UInt64.random(in: 0...28, using: &generator)), using: &generator)
        }
    }

    @Test("a percentile is the value of that rank to three digits", arguments: [1, 2, 7, 1000, 20_000])
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

    @Test("every statistic equals that of the package", arguments: [1, 2, 7, 1000, 20_000])
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

    @Test("the sum of two distributions is that of all their values, in any order")
    func sum() {
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

    @Test("an empty distribution has no statistics and adds nothing")
    func empty() {
        let nothing = Latencies()
        #expect(nothing.percentile(50) == nil && nothing.min == nil && nothing.max == nil && nothing.mean == nil)
        var sum = Latencies(microseconds: [5])
        sum.add(nothing)
        #expect(sum == Latencies(microseconds: [5]))
        var other = nothing
        other.add(sum)
        #expect(other == sum)
    }

    @Test("a time over one hour counts as one hour")
    func longest() {
        let latencies = Latencies(microseconds: [Latencies.highest, Latencies.highest * 1000])
        #expect(latencies.count == 2)
        #expect(latencies == Latencies(microseconds: [Latencies.highest, Latencies.highest]))
    }

    @Test(
        "the JSON of a distribution reads back as the same cells, which merge exactly",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func jsonKeepsEveryCell(seed: UInt64) throws {
        let values = [Self.values(Int(seed) * 37, seed: seed), Self.values(300, seed: seed + 100), []]
        var merged = Latencies()
        for part in values {
            let latencies = Latencies(microseconds: part)
            let read = try JSONDecoder().decode(Latencies.self, from: JSONEncoder().encode(latencies))
            #expect(read == latencies, "seed \(seed)")
            merged.add(read)
        }
        #expect(merged == Latencies(microseconds: values.flatMap(\.self)), "seed \(seed)")
    }

    @Test(
        "cells that no distribution has are rejected",
        arguments: [
            ("[1]", "[]"), ("[2, 1]", "[1, 1]"), ("[1, 1]", "[1, 1]"), ("[5]", "[0]"), ("[5]", "[-1]"),
            ("[5]", "[10000000001]"), ("[5]", "[18446744073709551615]"), ("[2048]", "[1]"), ("[7000000000]", "[1]"),
            ("[5.5]", "[1]"), ("\"5\"", "[1]"),
        ]
    )
    func damagedCells(values: String, counts: String) {
        let json = Data("{\"count\":1,\"values\":\(values),\"counts\":\(counts)}".utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Latencies.self, from: json) }
    }
}
