import TestSupport
import Testing

@testable import WalletStore

@Suite("Commit latencies")
struct CommitLatencyTests {
    private static let seed = UInt64.random(in: .min ... .max)

    @Test("median and 99th percentile are never too low, and at most an eighth too high")
    func quantiles() {
        print("seed \(Self.seed)")
        var generator = SeededGenerator(seed: Self.seed)
        for count in [1, 2, 99, 100, 1000] {
            let latency = CommitLatency()
            let longest = Int64.random(in: 1...10_000_000, using: &generator)
            let times = (0..<count).map { _ in Int64.random(in: 0...longest, using: &generator) }.sorted()
            for time in times { latency.note(.microseconds(time)) }
            let summary = latency.summary()
            #expect(summary.count == count)
            for (told, percent) in [(summary.median, 50), (summary.p99, 99)] {
                let exact = times[(count * percent + 99) / 100 - 1]
                #expect(
                    told > .microseconds(exact) && told <= .microseconds(exact + exact / 8 + 1),
                    "\(exact): \(told)"
                )
            }
        }
    }

    @Test("no samples, a year and zero are all reported")
    func extremes() {
        let latency = CommitLatency()
        #expect(latency.summary() == CommitLatency.Summary())
        latency.note(.zero)
        latency.note(.seconds(400 * 86_400))
        #expect(latency.summary().count == 2 && latency.summary().median == .microseconds(1))
    }
}
