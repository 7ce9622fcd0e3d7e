@testable import LoadReport
import TestSupport
import Testing

@Suite("Report of a closed loop")
struct ClosedLoopTests {
    /// Four seconds without an answer in the third one, with `waiting` operations in flight.
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

    @Test("a closed loop has one table of times, from sending")
    func closedLoopHasOneTable() {
        let (text, page) = (Self.run().text(as: .text), Self.run().text(as: .html))
        #expect(text.contains("Latency from sending:\n") && !text.contains("due time"))
        #expect(text.split(separator: "\n").count { $0.hasPrefix("  check ") } == 1)
        #expect(page.contains(">Latency from sending<") && !page.lowercased().contains("due time"))
    }

    @Test("an open loop and an attack have two tables of times, from the due time and from sending")
    func openLoopHasTwoTables() {
        for run in [Self.run(rate: 2), Self.run(lateBy: 500)] {
            let text = run.text(as: .text)
            #expect(text.contains("Latency from the due time:\n") && text.contains("Service time from sending:\n"))
            #expect(run.text(as: .html).contains(">Latency from the due time<"))
        }
    }

    @Test("a note states how long no answer arrived with operations in flight")
    func stallIsNoted() {
        let note = "no answer arrived for 1.0 s with operations in flight"
        #expect(Self.run().text(as: .text).contains(note))
        #expect(Self.run().text(as: .html).contains(note))
        // The times of an open loop show the stall; without operations in flight there is none.
        #expect(!Self.run(rate: 2).text(as: .text).contains(note))
        #expect(!Self.run(waiting: 0).text(as: .text).contains(note))
    }
}
