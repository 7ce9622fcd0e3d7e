@testable import LoadEngine
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

    /// Two seconds of 4 connections, each answered after `answer` milliseconds, `pause` milliseconds apart.
    private static func run(
        server: Double?,
        tool: Double?,
        answer: Int = 5,
        pause: Int = 0,
        rate: Double? = nil
    ) -> RunResult {
        let count = 4 * 1000 / (answer + pause)
        let times = Latencies(microseconds: [UInt64](repeating: UInt64(answer) * 1000, count: count))
        let figures = OperationFigures(outcomes: [.valid: count], latency: times, serviceTime: times)
        let intervals = (0..<2).map { second in
            Interval(
                from: .seconds(second),
                to: .seconds(second + 1),
                operations: [.check: figures],
                gauges: Gauges(connections: 4, plannedRate: rate, serverCPUSeconds: server, toolCPUSeconds: tool)
            )
        }
        return SampleRun.result(of: intervals, seed: 1, thresholds: [])
    }

    @Test("a note states that a closed loop was limited by waiting, and the reason")
    func waitingIsNoted() {
        let text = Self.run(server: 0.1, tool: 0.2).text(as: .text)
        #expect(text.contains("limited by waiting, not by work: the server used 10.0% of a core, pin-load 20.0%"))
        #expect(text.contains("4.0 of 4 connections had a call in flight"))
        #expect(text.contains("waited for the disk or the network"))
        #expect(Self.run(server: 0.1, tool: 0.2, pause: 20).text(as: .text).contains("paused between operations"))
    }

    @Test("the CPU time after the end of the plan does not count as cores that were busy during it")
    func tailIsNoWork() {
        var run = Self.run(server: 0.1, tool: 0.2)
        var tail = run.intervals[1]
        (tail.start, tail.end, tail.isTail) = (tail.end, tail.end + .seconds(10), true)
        (tail.gauges.serverCPUSeconds, tail.gauges.toolCPUSeconds) = (40, 5)
        run.intervals.append(tail)
        let text = run.text(as: .text)
        #expect(text.contains("0.10 cores busy") && text.contains("0.20 cores busy"))
        #expect(text.contains("limited by waiting"))
        #expect(run.totals.serverCPUSeconds == 40.2)
    }

    @Test(
        "a run with work, with a rate or with unknown CPU times has no such note",
        arguments: [(0.6, 0.2, nil), (0.1, 0.6, nil), (0.1, 0.2, 800), (nil, 0.2, nil)] as [(Double?, Double, Double?)]
    )
    func workIsNotWaiting(server: Double?, tool: Double, rate: Double?) {
        #expect(!Self.run(server: server, tool: tool, rate: rate).text(as: .text).contains("limited by waiting"))
    }
}
