@testable import LoadReport
import TestSupport
import Testing

@Suite("The report of a closed loop")
struct ClosedLoopTests {
    /// Four seconds; nothing is answered in the third, with operations under way or without.
    private static func run(rate: Double? = nil, waiting: Int = 8, lateBy: UInt64 = 0) -> RunResult {
        let intervals = (0..<4).map { second in
            let figures = OperationFigures(
                outcomes: [.valid: 2],
                latency: Latencies(microseconds: [1000 + lateBy, 2000 + lateBy]),
                serviceTime: Latencies(microseconds: [1000, 2000])
            )
            return Interval(
                from: .seconds(second),
                to: .seconds(second + 1),
                operations: second == 2 ? [:] : [.check: figures],
                gauges: Gauges(connections: 8, inFlight: second == 2 ? waiting : 3, plannedRate: rate)
            )
        }
        return SampleRun.result(of: intervals, seed: 1, thresholds: [])
    }

    @Test("has one table of times, which does not speak of due times, and no more does the page")
    func closed() {
        let (text, page) = (Self.run().text(as: .text), Self.run().text(as: .html))
        #expect(text.contains("  from sending ") && !text.contains("due time"))
        #expect(text.split(separator: "\n").count { $0.hasPrefix("  check ") } == 1)
        #expect(page.contains("From sending: a closed loop") && !page.lowercased().contains("due time"))
    }

    @Test("has two where something became due by itself: a rate, or guesses that left all at once")
    func due() {
        for run in [Self.run(rate: 2), Self.run(lateBy: 500)] {
            let text = run.text(as: .text)
            #expect(text.contains("  from the due time ") && text.contains("  from sending "))
            #expect(run.text(as: .html).contains("From the due time: what a person waits"))
        }
    }

    @Test("notes for how long no answer came while operations were under way")
    func silence() {
        let note = "for 1.0 s no answer came while operations were under way"
        #expect(Self.run().text(as: .text).contains(note))
        #expect(Self.run().text(as: .html).contains(note))
        // With a rate the times show it; where nothing was under way nobody waited.
        #expect(!Self.run(rate: 2).text(as: .text).contains(note))
        #expect(!Self.run(waiting: 0).text(as: .text).contains(note))
    }
}
