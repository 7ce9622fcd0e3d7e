import Testing

@testable import LoadEngine

@Suite("Comparison of two runs")
struct ComparisonTests {
    @Test("runs that differ only by chance differ within the noise", arguments: 1...10 as ClosedRange<UInt64>)
    func chance(seed: UInt64) throws {
        let comparison = Comparison(SampleRun.result(seed: seed), SampleRun.result(seed: seed + 1000))
        for name in [
            "rate", "p50", "p90", "service.p50", "service.p99", "check.service.p50", "server-cpu", "unexpected",
        ] {
            let row = try #require(comparison.rows.first { $0.name == name })
            #expect(row.finding == .same || row.finding == .withinNoise, "seed \(seed): \(row)")
        }
    }

    @Test("a slower server is detected despite the noise", arguments: 1...5 as ClosedRange<UInt64>)
    func slower(seed: UInt64) throws {
        let before = SampleRun.result(seed: seed)
        let after = SampleRun.result(seed: seed + 1000, slowdown: 1.2)
        let rows = Comparison(before, after).rows
        for name in ["p50", "service.p50", "check.service.p50", "server-cpu"] {
            let row = try #require(rows.first { $0.name == name })
            #expect(row.finding == .worse, "seed \(seed): \(row)")
            #expect(try (1.1...1.3).contains(#require(row.ratio)), "seed \(seed): \(row)")
        }
        let better = try #require(Comparison(after, before).rows.first { $0.name == "service.p50" })
        #expect(better.finding == .better)
    }

    @Test("a single violation is never within the noise")
    func violation() throws {
        let comparison = Comparison(
            SampleRun.plain,
            SampleRun.violated(by: "a right PIN was called wrong")
        )
        #expect(try #require(comparison.rows.first { $0.name == "violations" }).finding == .worse)
    }

    @Test("runs that are too short give no finding")
    func short() throws {
        var intervals = SampleRun.plain.measuredIntervals
        intervals = Array(intervals.prefix(3))
        let short = RunResult(setting: SampleRun.setting(1), intervals: intervals, end: .interrupted)
        let slower = SampleRun.slower
        #expect(try #require(Comparison(short, slower).rows.first { $0.name == "p50" }).finding == .unknown)
    }

    @Test("each setting that differs is named once")
    func differences() throws {
        let before = SampleRun.plain
        var after = before
        #expect(Comparison(before, after).differences.isEmpty)
        after.setting.machine.cores = 4
        after.setting.serverBuild = nil
        after.setting.plan[1] = PlanEntry("arrivals", "constant")
        after.setting.plan.append(PlanEntry("think", "200ms"))
        after.setting.command.append("--json")
        let differences = Comparison(before, after).differences
        #expect(differences.map(\.name) == ["arrivals", "server", "cores", "think"])
        #expect(differences.last == Comparison.Difference(name: "think", before: nil, after: "200ms"))
    }

    @Test(
        "a limit is exceeded only by a larger change in its direction",
        arguments: [
            ("service.p50>+15%", true), ("service.p50>+25%", false), ("service.p50<-1%", false), ("rate<-5%", false),
            ("rate>+5%", false), ("service.p50>-5%", true), ("violations>+0%", false), ("check.count<-1%", false),
        ] as [(String, Bool)]
    )
    func limits(text: String, isExceeded: Bool) throws {
        let comparison = Comparison(SampleRun.plain, SampleRun.slower)
        #expect(try ChangeLimit(parsing: text).isExceeded(in: comparison) == isExceeded)
    }

    @Test(
        "runs of different lengths are compared by shares, not by counts",
        arguments: ["errors", "check.errors", "wrong"]
    )
    func lengths(metric: String) throws {
        let once = SampleRun.plain.intervals.filter { !$0.isWarmup }
        let shift = Duration.seconds(SampleRun.seconds)
        let again = once.map { interval in
            var interval = interval
            (interval.start, interval.end) = (interval.start + shift, interval.end + shift)
            return interval
        }
        let comparison = Comparison(SampleRun.result(of: once, seed: 1), SampleRun.result(of: once + again, seed: 1))
        #expect(try ChangeLimit(parsing: metric + ">+10%").isExceeded(in: comparison) == false)
        #expect(try ChangeLimit(parsing: "count>+99%").isExceeded(in: comparison) == true)
    }

    @Test(
        "a change of exactly the limit does not exceed it",
        arguments: [(100, 110, "+10%"), (100, 107, "+7%"), (1000, 1290, "+29%")]
    )
    func exactly(before: Int, after: Int, limit: String) throws {
        func run(_ count: Int) -> RunResult {
            let figures = OperationFigures(outcomes: [.valid: count])
            return SampleRun.result(
                of: [Interval(from: .zero, to: .seconds(1), operations: [.check: figures])],
                seed: 1
            )
        }
        let comparison = Comparison(run(before), run(after))
        #expect(try ChangeLimit(parsing: "count>" + limit).isExceeded(in: comparison) == false)
        #expect(try ChangeLimit(parsing: "count>+6.9%").isExceeded(in: comparison) == true)
    }

    @Test("growth from zero exceeds every limit, and a missing metric is not a pass")
    func extremes() throws {
        let before = SampleRun.plain
        let comparison = Comparison(before, SampleRun.violated(by: "a right PIN was called wrong"))
        #expect(try ChangeLimit(parsing: "violations>+1000%").isExceeded(in: comparison) == true)
        #expect(try ChangeLimit(parsing: "register.p99>+10%").isExceeded(in: comparison) == nil)
    }

    @Test(
        "an invalid limit is rejected with the correct form",
        arguments: [
            ("p99", "'p99' has no comparison; write a metric, < or >, and a signed percentage, as in p99>+10%"),
            ("p99>10%", "'>10%' is not a change of p99; write a signed percentage, as in p99>+10% or p99<-5%"),
            (
                "p99>+10ms",
                "'>+10ms' is not a change of p99; write a signed percentage, as in p99>+10% or p99<-5%"
            ),
            (
                "p99>=+10%",
                "'>=+10%' is not a change of p99; write a signed percentage, as in p99>+10% or p99<-5%"
            ),
            ("eror>+1%", "unknown metric 'eror'; did you mean 'errors'?"),
        ]
    )
    func refused(text: String, message: String) {
        let error = #expect(throws: ChangeLimitError.self) { try ChangeLimit(parsing: text) }
        #expect(error?.description == message)
    }

    @Test("the text of a comparison equals the reviewed one")
    func golden() throws {
        let limits = try ["service.p50>+10%", "p90>+10%", "rate<-5%"].map { try ChangeLimit(parsing: $0) }
        var after = SampleRun.slower
        after.setting.serverBuild = "remote-pin-server 1.0 (def5678)"
        try Golden.expect("compare.txt", Comparison(SampleRun.plain, after).text(limits: limits))
    }
}
