@testable import LoadEngine
import Testing

@Suite("Thresholds")
struct ThresholdTests {
    /// Ten seconds with 1,000 checks of 1 to 1,000 ms latency, half of it service time, and 100 PIN changes of 5 ms.
    private static let totals: Totals = {
        let recorder = Recorder()
        for number in 1...1000 {
            let time = Duration.milliseconds(number)
            let outcome: Outcome =
                number <= 900 ? .valid : number <= 990 ? .wrong : number <= 997 ? .blocked : .failed("closed")
            recorder.record(
                Sample(
                    operation: .check,
                    outcome: outcome,
                    latency: time,
                    serviceTime: time / 2,
                    isExpected: outcome != .blocked
                )
            )
        }
        for _ in 0..<100 {
            let time = Duration.milliseconds(5)
            recorder.record(Sample(operation: .changePIN, outcome: .changed, latency: time, serviceTime: time))
        }
        recorder.recordUnsent(100)
        let gauges = Gauges(serverCPUSeconds: 1.1, serverResidentBytes: 64 << 20)
        return Totals(of: [recorder.takeInterval(from: .zero, to: .seconds(10), gauges: gauges)])
    }()

    @Test(
        "each metric is compared with its limit",
        arguments: [
            ("check.p50<500ms", true, "499 ms"), ("check.p50<499ms", false, "499 ms"),
            ("check.max<=0.998s", true, "997 ms"),
            ("check.service.p50<250ms", true, "250 ms"), ("change-pin.p99<=5.1ms", true, "5.00 ms"),
            ("check.min>999us", true, "1.00 ms"), ("p50<460ms", true, "449 ms"),
            ("rate>109", true, "110/s"), ("rate>=110", false, "110/s"), ("check.rate==99.7", true, "99.7/s"),
            ("errors<0.3%", true, "0.27%"), ("errors<=3", true, "3"), ("check.errors<0.3%", false, "0.30%"),
            ("errors==0", false, "3"), ("change-pin.errors==0", true, "0"), ("failed:timeout==0", true, "0"),
            ("unexpected==7", true, "7"), ("unexpected<1%", true, "0.64%"), ("violations==0", true, "0"),
            ("unsent<10%", true, "8.33%"), ("unsent==0", false, "100"), ("valid>899", true, "900"),
            ("check.wrong>=9%", true, "9.00%"), ("blocked!=7", false, "7"), ("count>=1100", true, "1,100"),
            ("server-cpu<1.1ms", true, "1.00 ms"), ("server-memory<=64MiB", true, "64.0 MiB"),
            ("server-memory<64MB", false, "64.0 MiB"), (" p99 < 2 s ", true, "987 ms"), ("failed:closed<1", false, "3"),
        ] as [(String, Bool, String)]
    )
    func evaluate(text: String, isMet: Bool, value: String) throws {
        let threshold = try Threshold(parsing: text)
        #expect(threshold.valueText(of: Self.totals) == value)
        #expect(threshold.isMet(by: Self.totals) == isMet)
    }

    @Test(
        "a threshold on an unmeasured metric is not met",
        arguments: [
            "p99<1s", "unlock.p50<1s", "errors<50%", "server-cpu<1s", "rate>0", "errors==0", "unexpected==0",
            "unsent==0",
            "blocked==0", "failed:timeout==0",
        ]
    )
    func unmeasured(text: String) throws {
        let threshold = try Threshold(parsing: text)
        #expect(threshold.isMet(by: Totals()) == nil)
        let result = ThresholdResult(threshold, of: Totals())
        #expect(result.verdict == .unmeasured && result.value == "not measured")
    }

    @Test(
        "an operation that never happened does not meet a threshold on its errors",
        arguments: ["errors", "wrong", "p99"]
    )
    func absentOperation(metric: String) throws {
        let relation = metric == "p99" ? "<1s" : "==0"
        #expect(try Threshold(parsing: "unlock." + metric + relation).isMet(by: Self.totals) == nil)
        #expect(try Threshold(parsing: "unlock.count==0").isMet(by: Self.totals) == true)
    }

    @Test(
        "a count below its minimum is pending",
        arguments: [
            ("count>=5000", true), ("count>=1100", false), ("valid>900", true), ("wrong==91", true),
            ("wrong==89", false),
            ("errors<3", false), ("rate>5000", false), ("valid>99%", false), ("p99<1us", false),
        ] as [(String, Bool)]
    )
    func pending(text: String, isPending: Bool) throws {
        let threshold = try Threshold(parsing: text)
        #expect(threshold.isPending(by: Self.totals) == isPending)
        #expect(!isPending || threshold.isMet(by: Self.totals) == false)
    }

    @Test(
        "an invalid threshold is rejected with the correct form",
        arguments: [
            ("p99", "'p99' has no comparison; write a metric, <, <=, >, >=, == or !=, and a limit, as in p99<20ms"),
            (
                "p99=20ms",
                "'p99=20ms' has no comparison; write a metric, <, <=, >, >=, == or !=, and a limit, as in p99<20ms"
            ),
            ("p99<20", "'20' is not a limit for p99; write it as in p99<20ms"),
            ("p99<<20ms", "'<20ms' is not a limit for p99; write it as in p99<20ms"),
            ("p99<20%", "'20%' is not a limit for p99; write it as in p99<20ms"),
            ("p99<-1ms", "'-1ms' is not a limit for p99; write it as in p99<20ms"),
            ("p101<1s", "'p101' is not a percentile; the range is above 0 to 100, as in p99.9"),
            ("p0<1s", "'p0' is not a percentile; the range is above 0 to 100, as in p99.9"),
            ("error<1%", "unknown metric 'error'; did you mean 'errors'?"),
            ("failed:timout==0", "unknown metric 'failed:timout'; did you mean 'failed:timeout'?"),
            ("chekc.p99<1s", "unknown metric 'chekc.p99'; did you mean 'check.p99'?"),
            ("check.mux<1s", "unknown metric 'check.mux'; did you mean 'check.max'?"),
            ("errors<0.001", "'0.001' is not a limit for errors; write it as in errors<10 or <0.1%"),
            ("errors<101%", "'101%' is not a limit for errors; write it as in errors<10 or <0.1%"),
            ("violations<1%", "'1%' is not a limit for violations; write it as in violations==0"),
            ("check.unsent==0", "'unsent' is a metric of the whole run; write it without an operation"),
            ("server-memory<64", "'64' is not a limit for server-memory; write it as in server-memory<512MiB"),
            ("rate>5k", "'5k' is not a limit for rate; write it as in rate>5000"),
        ]
    )
    func refused(text: String, message: String) throws {
        let error = #expect(throws: ThresholdError.self) { try Threshold(parsing: text) }
        #expect(error?.description == message)
    }

    @Test("an unknown name without a similar metric gives the list of all metrics")
    func unknown() throws {
        let error = #expect(throws: ThresholdError.self) { try Threshold(parsing: "throughputness<1s") }
        #expect(error?.description.contains("known are p50, p99.9, min, mean") == true)
    }

    @Test(
        "only a count above its maximum can never be met again",
        arguments: [
            ("violations==0", false), ("errors<3", true), ("errors<=3", false), ("errors<4", false),
            ("errors==2", true),
            ("errors<0.1%", false), ("rate>1000000", false), ("p99<1us", false), ("check.max<1us", true),
            ("valid>2000", false),
        ] as [(String, Bool)]
    )
    func lost(text: String, isLost: Bool) throws {
        #expect(try Threshold(parsing: text).isLost(by: Self.totals) == isLost)
    }

    @Test("the exit code is 99 for a failed run, 130 for an interrupted one and 0 otherwise")
    func exitCodes() throws {
        let met = SampleRun.result(of: SampleRun.plain.intervals, seed: 1, thresholds: ["p50<20ms", "errors<1%"])
        #expect(met.isSuccess && met.exitCode == 0)
        let failed = SampleRun.result(of: met.intervals, seed: 1, thresholds: ["p99<1us"])
        #expect(!failed.isSuccess && failed.exitCode == 99)
        var impossible = SampleRun.violated(by: "a right PIN was called wrong")
        impossible.thresholds = []
        #expect(!impossible.isSuccess && impossible.exitCode == 99)
        var lost = met
        lost.end = .lost
        #expect(!lost.isSuccess && lost.exitCode == 99)
        var aborted = met
        aborted.end = .aborted
        #expect(!aborted.isSuccess && aborted.exitCode == 99)
        #expect(aborted.text(as: .text).contains("aborted by a threshold that was met again"))
        var interrupted = met
        interrupted.end = .interrupted
        #expect(interrupted.exitCode == 130)
        interrupted.sections.append(
            ReportSection(title: "Burst", columns: ["guesses"], rows: [[.count(5)]], verdict: .failed)
        )
        #expect(interrupted.exitCode == 99)
    }
}
