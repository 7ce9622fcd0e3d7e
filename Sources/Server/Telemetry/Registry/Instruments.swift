internal import CoreMetrics
internal import Synchronization

/// A count that many threads raise: one atomic addition each time.
final class CountCell: CounterHandler {
    private let count = Atomic<Int64>(0)

    var value: Double { Double(self.count.load(ordering: .relaxed)) }

    /// Nothing but a greater count: a counter that fell would look like a restart.
    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        self.count.wrappingAdd(amount, ordering: .relaxed)
    }

    func reset() { self.count.store(0, ordering: .relaxed) }
}

/// A number that many threads set or change.
final class LevelCell: RecorderHandler, MeterHandler {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: self.bits.load(ordering: .relaxed)) }

    func record(_ value: Int64) { self.set(Double(value)) }
    func record(_ value: Double) { self.set(value) }
    func set(_ value: Int64) { self.set(Double(value)) }
    func set(_ value: Double) { self.bits.store(value.bitPattern, ordering: .relaxed) }
    func increment(by amount: Double) { self.bits.add(amount) }
    func decrement(by amount: Double) { self.bits.add(-amount) }
}

/// Values counted by size: two atomic additions each time.
///
/// The number of all values is the sum of the cells, so that what one scrape tells never contradicts itself; the sum may
/// be a few values ahead or behind.
final class HistogramCell: RecorderHandler, TimerHandler {
    private final class Count: Sendable {
        let value = Atomic<UInt64>(0)
    }

    let bounds: [Double]
    /// One for each bound, and one for what is beyond them.
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

    /// How many values were at most each bound, then how many there were, and their sum.
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
    /// Adds to the floating-point number whose bits these are.
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
