internal import CoreMetrics
internal import Synchronization

/// A counter that many threads can increment, at the cost of one atomic addition each.
final class CounterCell: CounterHandler {
    private let count = Atomic<Int64>(0)

    var value: Double { Double(self.count.load(ordering: .relaxed)) }

    /// Adds to the counter, ignoring amounts below 1 because a decreasing counter would look like a restart.
    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        self.count.wrappingAdd(amount, ordering: .relaxed)
    }

    func reset() { self.count.store(0, ordering: .relaxed) }
}

/// A gauge that many threads can set or change.
final class GaugeCell: RecorderHandler, MeterHandler {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: self.bits.load(ordering: .relaxed)) }

    func record(_ value: Int64) { self.set(Double(value)) }
    func record(_ value: Double) { self.set(value) }
    func set(_ value: Int64) { self.set(Double(value)) }
    func set(_ value: Double) { self.bits.store(value.bitPattern, ordering: .relaxed) }
    func increment(by amount: Double) { self.bits.add(amount) }
    func decrement(by amount: Double) { self.bits.add(-amount) }
}

/// A histogram that many threads can update, at the cost of two atomic additions each.
///
/// The total count is computed from the buckets, so that the two always match within a scrape. The sum may be ahead or
/// behind by a few values.
final class HistogramCell: RecorderHandler, TimerHandler {
    private final class Count: Sendable {
        let value = Atomic<UInt64>(0)
    }

    let bounds: [Double]
    /// A count for each bound, and one for larger values.
    private let counts: [Count]
    private let total = Atomic<UInt64>(0)

    init(bounds: [Double]) {
        self.bounds = bounds
        self.counts = (0...bounds.count).map { _ in Count() }
    }

    func record(_ value: Int64) { self.record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        var place = 0
        while place < self.bounds.count, value > self.bounds[place] { place += 1 }
        self.counts[place].value.wrappingAdd(1, ordering: .relaxed)
        self.total.add(value)
    }

    func recordNanoseconds(_ duration: Int64) { self.record(Double(duration) / 1_000_000_000) }

    /// The cumulative count for each bound, the total count, and the sum.
    var state: (upTo: [UInt64], count: UInt64, sum: Double) {
        var (upTo, count): ([UInt64], UInt64) = ([], 0)
        for cell in self.counts {
            count += cell.value.load(ordering: .relaxed)
            upTo.append(count)
        }
        return (upTo.dropLast(), count, Double(bitPattern: self.total.load(ordering: .relaxed)))
    }
}

extension Atomic<UInt64> {
    /// Adds to a floating-point number that is stored as a bit pattern.
    fileprivate func add(_ amount: Double) {
        var bits = self.load(ordering: .relaxed)
        while true {
            let sum = Double(bitPattern: bits) + amount
            let (exchanged, original) = self.weakCompareExchange(
                expected: bits,
                desired: sum.bitPattern,
                ordering: .relaxed
            )
            if exchanged { return }
            bits = original
        }
    }
}
